from refgrad.checking import GradientError as GradientError
from refgrad.checking import check_gradients as check_gradients
from refgrad.grading.judging.examination import examine as examine
from refgrad.grading.judging.verdict import Verdict as Verdict
from refgrad.lifecycle import Policy as Policy
from refgrad.native.adapter import AdapterError as AdapterError
from refgrad.native.adapter import FunctionalAdapter as FunctionalAdapter
from refgrad.native.adapter import TapeAdapter as TapeAdapter
from refgrad.native.adapter import read_adapter as read_adapter
from refgrad.native.adapter import spell as spell
from refgrad.native.engine import reproduce as reproduce
from refgrad.native.engine import start as start
from refgrad.report.document import Report as Report
from refgrad.report.document import ReportError as ReportError
from refgrad.report.document import read_report as read_report
from refgrad.scenario import Scenario as Scenario
from refgrad.scenario import ScenarioError as ScenarioError
from refgrad.scenario import parse as parse

__all__: list[str]  # noqa: PYI035 (the names that are imported here)
__version__: str
