# The runner of R engines: one file for R 4.0 and later, with jsonlite. It reads requests as JSON lines from standard
# input and answers each with one line; docs/reference/runner-protocol.md describes both.

PROTOCOL <- 1
LONGEST_MESSAGE <- 2000
NOTHING <- setNames(list(), character()) # an object without members
state <- new.env()

compiled <- function(template, fields) {
  key <- paste(template, paste(fields, collapse = ","), sep = "\r")
  if (is.null(state$templates[[key]])) {
    text <- gsub("\\{(\\w+)\\}", "field_\\1", template, perl = TRUE)
    text <- gsub("}}", "}", gsub("{{", "{", text, fixed = TRUE), fixed = TRUE)
    state$templates[[key]] <- parse(text = text, keep.source = FALSE)
  }
  state$templates[[key]]
}

called <- function(call, names) {
  values <- new.env(parent = state$session)
  for (field in names(call$fields)) assign(paste0("field_", field), argument(call$fields[[field]], names), values)
  eval(compiled(call$template, names(call$fields)), values)
}

argument <- function(given, names) {
  body <- given[[1]]
  switch(names(given),
    name = bound(body, names),
    names = lapply(body, bound, names),
    value = literal(body),
    array = number(body),
    call = called(body, names),
    refused("this runner has no argument ", names(given))
  )
}

bound <- function(name, names) {
  if (!exists(name, envir = names, inherits = TRUE)) stop(name, " is not defined", call. = FALSE)
  get(name, envir = names)
}

# Raise an error: the runner, or the engine, does not offer something.
refused <- function(...) {
  stop(structure(list(message = paste0(...), call = NULL), class = c("NotImplementedError", "error", "condition")))
}

literal <- function(value) {
  if (!is.list(value)) return(value)
  if (!is.null(value$float)) return(as.numeric(value$float))
  refused("this runner has no value ", names(value))
}

number <- function(form) {
  if (length(form$shape)) refused("this runner has no arrays")
  data <- jsonlite::base64_dec(form$data)
  switch(form$dtype,
    float64 = readBin(data, "double", endian = "little"),
    float32 = readBin(data, "double", size = 4, endian = "little"),
    bool = data[[1]] != 0,
    refused("this runner has no numbers of ", form$dtype)
  )
}

encoded <- function(result) {
  data <- writeBin(as.double(result), raw(), endian = "little")
  list(dtype = "float64", shape = list(), data = jsonlite::base64_enc(data))
}

# Execute a statement, and return its answer if it shows a result.
execute <- function(statement, names) {
  body <- statement[[1]]
  switch(names(statement),
    call = bind(body, names),
    `function` = assign(body$name, made(body, names), names),
    delete = rm(list = body, envir = names),
    show = return(shown(body, names)),
    refused("this runner has no statement ", names(statement))
  )
  NULL
}

bind <- function(call, names) {
  result <- called(call, names)
  results <- if (isTRUE(call$unpack)) result else list(result)
  if (length(call$targets) && length(results) != length(call$targets)) {
    stop(length(results), " results, not ", length(call$targets), call. = FALSE)
  }
  for (place in seq_along(call$targets)) assign(call$targets[[place]], results[[place]], names)
}

made <- function(body, names) {
  function(primals) {
    inner <- new.env(parent = names)
    for (place in seq_along(body$parameters)) assign(body$parameters[[place]], primals[[place]], inner)
    for (line in body$body) execute(line, inner)
    bound(body$result, inner)
  }
}

shown <- function(show, names) {
  unbound <- function(given) !is.null(given$name) && !exists(given$name, envir = names)
  absent <- isTRUE(show$optional) && any(vapply(show$call$fields, unbound, TRUE))
  result <- if (!absent) called(show$call, names)
  if (is.null(result)) return(list(none = TRUE))
  switch(show$form,
    flag = list(flag = isTRUE(result)),
    array = list(array = encoded(result)),
    refused("this runner has no form ", show$form)
  )
}

run <- function(program) {
  names <- new.env(parent = emptyenv())
  lapply(program$steps, function(step) {
    told <- NULL
    tryCatch(
      for (statement in step) told <- execute(statement, names),
      error = function(error) told <<- raised(error)
    )
    if (is.null(told)) NOTHING else told
  })
}

raised <- function(error) {
  bases <- class(error)
  exhausted <- "stackOverflowError" %in% bases || grepl("nested too deeply", conditionMessage(error))
  if (exhausted) bases <- c(bases, "RecursionError")
  message <- substr(conditionMessage(error), 1, LONGEST_MESSAGE)
  list(error = list(type = bases[[1]], bases = as.list(bases), message = message))
}

hello <- function(told) {
  if (told$protocol != PROTOCOL) stop("the runner speaks protocol ", PROTOCOL, ", not ", told$protocol, call. = FALSE)
  state$session <- new.env(parent = globalenv())
  state$templates <- list()
  assign("refused", refused, state$session)
  eval(parse(text = told$setup, keep.source = FALSE), state$session)
  list(hello = list(protocol = PROTOCOL, language = "r", version = as.character(getRversion()), numpy = NULL))
}

# A namespace of R has what it has for values, not for expressions, so that none of its names is taken for an operator.
members <- function(asked) list(members = setNames(rep(list(NOTHING), length(asked$modules)), asked$modules))

answer <- function(request) {
  if (!is.null(request$hello)) return(hello(request$hello))
  if (is.null(state$session)) stop("the first request must be a hello", call. = FALSE)
  if (!is.null(request$members)) return(members(request$members))
  if (is.null(request$run)) refused("this runner has no request ", names(request)[[2]])
  list(ran = lapply(request$run, run))
}

main <- function() {
  requests <- file("stdin", "r")
  answers <- file("/dev/stdout", "w")
  sink(stderr()) # what an engine prints: standard output carries answers
  options(warn = -1, digits = 17)
  while (length(line <- readLines(requests, 1, encoding = "UTF-8"))) {
    request <- jsonlite::fromJSON(line, simplifyVector = FALSE)
    if (isTRUE(request$stop)) break
    told <- c(list(id = request$id), tryCatch(answer(request), error = raised))
    writeLines(jsonlite::toJSON(told, auto_unbox = TRUE, null = "null", digits = NA), answers)
    flush(answers)
  }
}

main()
