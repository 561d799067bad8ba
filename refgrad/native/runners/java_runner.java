// The runner of Java engines: one file for a JDK 17 and later, without dependencies. It reads requests as JSON lines
// from standard input and answers each with one line; docs/reference/runner-protocol.md describes both.
//
// The setup of an adapter is a compilation unit: imports, and classes that are not public. Its first line
// `// java -cp JARS` may name what the engine needs. Each template is compiled once, in memory, after these imports.

import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.*;

final class Runner {
  static final long PROTOCOL = 1;
  static final int LONGEST_MESSAGE = 2000;
  private Session session;

  public static void main(String[] arguments) throws IOException {
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    System.setOut(System.err); // what an engine prints: standard output carries answers
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Runner runner = new Runner();
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      Map<String, Object> request = Json.object(new Json(line).read());
      if (request.containsKey("stop")) break;
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("id", request.get("id"));
      answer.putAll(runner.answer(request));
      answers.print(Json.text(answer) + "\n");
      answers.flush();
    }
    System.exit(0); // threads of an engine do not keep the process alive
  }

  private Map<String, Object> answer(Map<String, Object> request) {
    try {
      if (request.containsKey("hello")) return hello(Json.object(request.get("hello")));
      if (session == null) throw new IllegalStateException("the first request must be a hello");
      if (request.containsKey("members")) return Map.of("members", none(Json.object(request.get("members"))));
      return Map.of("ran", Json.list(request.get("run")).stream().map(each -> session.run(Json.object(each))).toList());
    } catch (Throwable error) {
      return raised(error);
    }
  }

  private Map<String, Object> hello(Map<String, Object> told) throws Throwable {
    if (!told.get("protocol").equals(PROTOCOL))
      throw new IllegalArgumentException("the runner speaks protocol " + PROTOCOL + ", not " + told.get("protocol"));
    session = new Session((String) told.get("setup"));
    Map<String, Object> about = new HashMap<>(Map.of("protocol", PROTOCOL, "language", "java"));
    about.put("version", System.getProperty("java.version"));
    about.put("numpy", null);
    return Map.of("hello", about);
  }

  // Members of classes are not listed: methods are overloaded, and most belong to an object.
  private static Map<String, Object> none(Map<String, Object> asked) {
    return Json.list(asked.get("modules")).stream().collect(Collectors.toMap(each -> (String) each, each -> Map.of()));
  }

  static Map<String, Object> raised(Throwable error) {
    List<Object> bases = new ArrayList<>();
    for (Class<?> type = error.getClass(); type != Object.class; type = type.getSuperclass())
      bases.add(type.getSimpleName());
    if (error instanceof StackOverflowError) bases.add("RecursionError");
    if (error instanceof OutOfMemoryError) bases.add("MemoryError");
    if (error instanceof UnsupportedOperationException) bases.add("NotImplementedError");
    String message = String.valueOf(error.getMessage());
    if (message.length() > LONGEST_MESSAGE) message = message.substring(0, LONGEST_MESSAGE);
    return Map.of("error", Map.of("type", bases.get(0), "bases", bases, "message", message));
  }
}

/** Runs the programs of one engine. */
final class Session {
  private static final Pattern FIELD = Pattern.compile("\\{\\{|\\}\\}|\\{(\\w+)\\}");
  private static final Pattern HEAD = Pattern.compile("(?:(?://|import )[^\\n]*\\n|\\s*\\n)*");
  private final String imports;
  private final Compiler compiler;
  private final Map<String, Method> compiled = new HashMap<>();

  Session(String setup) throws MalformedURLException {
    Matcher head = HEAD.matcher(setup.strip());
    imports = head.lookingAt() ? head.group() : "";
    Matcher path = Pattern.compile("^// java -cp (\\S+)").matcher(setup.strip());
    compiler = new Compiler(path.find() ? path.group(1) : "");
    compiler.compile("Setup", setup);
  }

  Map<String, Object> answer(List<Object> step, Map<String, Object> names) {
    try {
      Map<String, Object> told = Map.of();
      for (Object statement : step) told = execute(Json.object(statement), names);
      return told;
    } catch (Throwable error) {
      return Runner.raised(error);
    }
  }

  List<Object> run(Map<String, Object> program) {
    Map<String, Object> names = new HashMap<>();
    return Json.list(program.get("steps")).stream().map(step -> (Object) answer(Json.list(step), names)).toList();
  }

  private Map<String, Object> execute(Map<String, Object> statement, Map<String, Object> names) throws Throwable {
    String kind = statement.keySet().iterator().next();
    Object body = statement.get(kind);
    switch (kind) {
      case "call" -> bind(Json.object(body), names);
      case "function" -> names.put((String) Json.object(body).get("name"), function(Json.object(body), names));
      case "delete" -> names.remove((String) body);
      case "show" -> {
        return show(Json.object(body), names);
      }
      default -> throw new UnsupportedOperationException("this runner has no statement " + kind);
    }
    return Map.of();
  }

  private void bind(Map<String, Object> call, Map<String, Object> names) throws Throwable {
    Object result = call(call, names);
    List<Object> targets = Json.list(call.getOrDefault("targets", List.of()));
    List<?> results = call.containsKey("unpack") ? parts(result) : targets.stream().map(target -> result).toList();
    if (results.size() != targets.size())
      throw new IllegalArgumentException(results.size() + " results, not " + targets.size());
    for (int i = 0; i < targets.size(); i++) names.put((String) targets.get(i), results.get(i));
  }

  private static List<?> parts(Object result) {
    return result instanceof Map.Entry<?, ?> pair ? Arrays.asList(pair.getKey(), pair.getValue()) : (List<?>) result;
  }

  // A function is a Program, which is an interface of the setup whose method takes a list of tensors.
  private Object function(Map<String, Object> body, Map<String, Object> names) throws ClassNotFoundException {
    List<Object> parameters = Json.list(body.get("parameters"));
    return Proxy.newProxyInstance(compiler, new Class<?>[] {compiler.loadClass("Program")}, (self, method, given) -> {
      Map<String, Object> inner = new HashMap<>(names);
      List<?> primals = (List<?>) given[0];
      for (int i = 0; i < parameters.size(); i++) inner.put((String) parameters.get(i), primals.get(i));
      for (Object line : Json.list(body.get("body"))) execute(Json.object(line), inner);
      return bound((String) body.get("result"), inner);
    });
  }

  private Map<String, Object> show(Map<String, Object> show, Map<String, Object> names) throws Throwable {
    Map<String, Object> call = Json.object(show.get("call"));
    boolean absent = Json.object(call.get("fields")).values().stream()
        .anyMatch(given -> Json.object(given).get("name") instanceof String name && !names.containsKey(name));
    Object result = absent && show.containsKey("optional") ? null : call(call, names);
    if (result == null) return Map.of("none", true);
    return switch ((String) show.get("form")) {
      case "flag" -> Map.of("flag", result);
      case "array" -> Map.of("array", Data.encoded(result));
      default -> throw new UnsupportedOperationException("this runner has no form " + show.get("form"));
    };
  }

  private Object call(Map<String, Object> call, Map<String, Object> names) throws Throwable {
    Map<String, Object> fields = Json.object(call.get("fields"));
    Object[] given = new Object[fields.size()];
    StringBuilder declared = new StringBuilder();
    int place = 0;
    for (Map.Entry<String, Object> field : fields.entrySet()) {
      given[place] = argument(Json.object(field.getValue()), names);
      String type = type(given[place]);
      declared.append("    %s _%s = (%s) given[%d];\n".formatted(type, field.getKey(), type, place++));
    }
    String text = FIELD.matcher((String) call.get("template")).replaceAll(
        found -> Matcher.quoteReplacement(found.group(1) == null ? found.group().substring(1) : "_" + found.group(1)));
    try {
      return compiled(declared.toString(), text).invoke(null, (Object) given);
    } catch (InvocationTargetException error) {
      throw error.getCause();
    }
  }

  private Method compiled(String declared, String expression) {
    return compiled.computeIfAbsent(declared + expression, key -> {
      String name = "Template" + compiled.size();
      String unit = imports + "\npublic class " + name + " {\n"
          + "  public static Object called(Object[] given) throws Throwable {\n" + declared + "    %s\n  }\n}\n";
      try {
        return compiler.compile(name, unit.formatted("return " + expression + ";"));
      } catch (IllegalArgumentException error) {
        try { // a call of a void method cannot be returned
          return compiler.compile(name, unit.formatted(expression + "; return null;"));
        } catch (IllegalArgumentException second) {
          throw error;
        }
      }
    });
  }

  private Object argument(Map<String, Object> given, Map<String, Object> names) throws Throwable {
    String kind = given.keySet().iterator().next();
    Object body = given.get(kind);
    return switch (kind) {
      case "name" -> bound((String) body, names);
      case "names" -> Json.list(body).stream().map(name -> bound((String) name, names)).toList();
      case "value" -> Data.literal(body);
      case "array" -> Data.number(Json.object(body));
      case "call" -> call(Json.object(body), names);
      default -> throw new UnsupportedOperationException("this runner has no argument " + kind);
    };
  }

  private static Object bound(String name, Map<String, Object> names) {
    if (!names.containsKey(name)) throw new IllegalArgumentException(name + " is not defined");
    return names.get(name);
  }

  // Return the type of a value in a template: its class, or an interface of it, whichever first has a usable name.
  private static String type(Object value) {
    if (value == null) return "Object";
    if (value instanceof Double) return "double";
    if (value instanceof Integer) return "int";
    if (value instanceof Boolean) return "boolean";
    if (value instanceof List) return "java.util.List";
    return Stream.concat(Stream.of(value.getClass()), Arrays.stream(value.getClass().getInterfaces()))
        .filter(type -> !type.isHidden() && !Proxy.isProxyClass(type) && type.getCanonicalName() != null)
        .filter(type -> Modifier.isPublic(type.getModifiers()) || type.getPackageName().isEmpty())
        .map(Class::getCanonicalName).findFirst().orElse("Object");
  }
}

/** Compiles classes in memory, and loads them. */
final class Compiler extends URLClassLoader {
  private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
  private final String path;
  private final Map<String, Unit> units = new LinkedHashMap<>();
  private final JavaFileManager manager;

  Compiler(String path) throws MalformedURLException {
    super(locations(path), ClassLoader.getSystemClassLoader());
    if (compiler == null) throw new IllegalStateException("this Java has no compiler: a JDK is needed");
    this.path = path + File.pathSeparator + System.getProperty("java.class.path");
    StandardJavaFileManager files = compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
    manager = new Units(files, units);
  }

  private static URL[] locations(String path) throws MalformedURLException {
    List<URL> found = new ArrayList<>();
    for (String each : path.split(File.pathSeparator)) if (!each.isEmpty()) found.add(new File(each).toURI().toURL());
    return found.toArray(new URL[0]);
  }

  /** Compile a unit, and return the method of its class of that name, or null if it has no such class. */
  Method compile(String name, String text) {
    DiagnosticCollector<JavaFileObject> told = new DiagnosticCollector<>();
    List<String> options = List.of("-nowarn", "-proc:none", "-Xlint:none", "-classpath", path);
    if (!compiler.getTask(null, manager, told, options, null, List.of(new Unit(name, text))).call()) {
      String errors = told.getDiagnostics().stream().filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
          .map(each -> each.getMessage(Locale.ROOT)).collect(Collectors.joining("; "));
      throw new IllegalArgumentException("it does not compile: " + errors.replaceAll("\\s+", " "));
    }
    try {
      return units.containsKey(name) ? loadClass(name).getMethod("called", Object[].class) : null;
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    if (!units.containsKey(name)) return super.findClass(name);
    byte[] code = units.get(name).code.toByteArray();
    return defineClass(name, code, 0, code.length);
  }
}

/** A source file, or a compiled class, in memory. */
final class Unit extends SimpleJavaFileObject {
  final String name;
  final String text;
  final ByteArrayOutputStream code = new ByteArrayOutputStream();

  Unit(String name, String text) {
    super(URI.create("memory:///" + name.replace('.', '/') + ".java"), text == null ? Kind.CLASS : Kind.SOURCE);
    this.name = name;
    this.text = text;
  }

  @Override
  public CharSequence getCharContent(boolean ignoreErrors) {
    return text;
  }

  @Override
  public OutputStream openOutputStream() {
    return code;
  }

  @Override
  public InputStream openInputStream() {
    return new ByteArrayInputStream(code.toByteArray());
  }
}

/** Lets the compiler find the classes that it has compiled before, in addition to files. */
final class Units extends ForwardingJavaFileManager<StandardJavaFileManager> {
  private final Map<String, Unit> units;

  Units(StandardJavaFileManager files, Map<String, Unit> units) {
    super(files);
    this.units = units;
  }

  @Override
  public JavaFileObject getJavaFileForOutput(
      Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
    units.put(name, new Unit(name, null));
    return units.get(name);
  }

  @Override
  public Iterable<JavaFileObject> list(
      Location location, String within, Set<JavaFileObject.Kind> kinds, boolean recurse) throws IOException {
    List<JavaFileObject> found = new ArrayList<>();
    super.list(location, within, kinds, recurse).forEach(found::add);
    if (location == StandardLocation.CLASS_PATH && within.isEmpty())
      units.values().stream().filter(unit -> !unit.name.startsWith("Template")).forEach(found::add);
    return found;
  }

  @Override
  public String inferBinaryName(Location location, JavaFileObject file) {
    return file instanceof Unit unit ? unit.name : super.inferBinaryName(location, file);
  }
}

/** Converts values from their JSON form and to it. */
final class Data {
  private Data() {}

  static Object literal(Object value) {
    if (value instanceof Long whole) return Math.toIntExact(whole);
    if (!(value instanceof Map)) return value;
    Map<String, Object> form = Json.object(value);
    if (!form.containsKey("float"))
      throw new UnsupportedOperationException("this runner has no value " + form.keySet());
    return switch ((String) form.get("float")) {
      case "inf" -> Double.POSITIVE_INFINITY;
      case "-inf" -> Double.NEGATIVE_INFINITY;
      case "nan" -> Double.NaN;
      default -> Double.parseDouble((String) form.get("float"));
    };
  }

  static Object number(Map<String, Object> form) {
    if (!Json.list(form.get("shape")).isEmpty()) throw new UnsupportedOperationException("this runner has no arrays");
    byte[] bytes = Base64.getDecoder().decode((String) form.get("data"));
    ByteBuffer data = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    return switch ((String) form.get("dtype")) {
      case "float64" -> data.getDouble();
      case "float32" -> (double) data.getFloat();
      case "int64" -> Math.toIntExact(data.getLong());
      case "bool" -> data.get() != 0;
      default -> throw new UnsupportedOperationException("this runner has no numbers of " + form.get("dtype"));
    };
  }

  static Map<String, Object> encoded(Object result) {
    ByteBuffer data = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putDouble(((Number) result).doubleValue());
    return Map.of("dtype", "float64", "shape", List.of(), "data", Base64.getEncoder().encodeToString(data.array()));
  }
}

/** Reads and writes as much of JSON as the protocol uses. */
final class Json {
  private final String text;
  private int at;

  Json(String text) {
    this.text = text;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  static List<Object> list(Object value) {
    return (List<Object>) value;
  }

  Object read() {
    return switch (next()) {
      case '{' -> members();
      case '[' -> items();
      case '"' -> quoted();
      default -> word();
    };
  }

  private char next() {
    while (" \t\r\n,:".indexOf(text.charAt(at)) >= 0) at++;
    return text.charAt(at);
  }

  private Map<String, Object> members() {
    Map<String, Object> found = new LinkedHashMap<>();
    for (at++; next() != '}'; ) {
      String name = quoted();
      found.put(name, read());
    }
    at++;
    return found;
  }

  private List<Object> items() {
    List<Object> found = new ArrayList<>();
    for (at++; next() != ']'; ) found.add(read());
    at++;
    return found;
  }

  private String quoted() {
    StringBuilder found = new StringBuilder();
    for (at++; text.charAt(at) != '"'; at++) {
      if (text.charAt(at) != '\\') {
        found.append(text.charAt(at));
        continue;
      }
      char escaped = text.charAt(++at);
      int control = "bfnrt".indexOf(escaped);
      found.append(control >= 0 ? "\b\f\n\r\t".charAt(control) : escaped == 'u' ? unicode() : escaped);
    }
    at++;
    return found.toString();
  }

  private char unicode() {
    at += 4;
    return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
  }

  private Object word() {
    int start = at;
    while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
    String word = text.substring(start, at);
    return switch (word) {
      case "null" -> null;
      case "true", "false" -> Boolean.valueOf(word);
      default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
    };
  }

  static String text(Object value) {
    if (value instanceof Map<?, ?> map)
      return map.entrySet().stream().map(each -> text(each.getKey()) + ":" + text(each.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    if (value instanceof List<?> list) return list.stream().map(Json::text).collect(Collectors.joining(",", "[", "]"));
    return value instanceof String string ? quote(string) : String.valueOf(value);
  }

  private static String quote(String string) {
    StringBuilder told = new StringBuilder("\"");
    for (char each : string.toCharArray()) {
      boolean plain = each >= ' ' && each <= '~' && each != '"' && each != '\\';
      told.append(plain ? String.valueOf(each) : "\\u%04x".formatted((int) each));
    }
    return told.append('"').toString();
  }
}
