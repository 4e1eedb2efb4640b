//! What a report is made of: blocks of preformatted text and the numbers of figures. Nothing here decides anything.

mod brief;
mod plots;
mod system;

use schemars::JsonSchema;
use serde::Serialize;

pub use brief::{Answer, Brief};
pub use plots::{
    Axis, AxisScale, Bar, BarPanel, Fall, FallPanel, Guide, HeatGroup, HeatPanel, HeatRow, LinePanel, Mark, MarkShape, Panels,
    Point, RatioPanel, RatioRow, Scale, Series, Stack, StackPanel, TimeLine, TimePanel, XyPanel, XyPoint, XySeries,
};
pub use system::{SystemPanel, SystemRole, SystemVolume};

/// A whole report, ready to be laid out. No text in it holds control characters or marks of writing direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReportModel {
    /// The study's question, or its name.
    pub title: String,
    /// The study's name.
    pub study: String,
    /// The answer on one screen.
    pub brief: Brief,
    /// Everything else: at most five parts.
    pub sections: Vec<Section>,
    /// The comparison as JSON on one line.
    pub data: String,
    /// What the page's script computes with at other prices, as JSON on one line; empty without prices.
    #[serde(skip)]
    pub what_if: String,
    /// What the report was made from, as JSON that [`crate::evidence`] reads; empty where it is not embedded.
    #[serde(skip)]
    pub evidence: String,
}

/// The colour and sign of something judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Nothing is judged.
    #[default]
    Plain,
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Inside the margin.
    Equivalent,
    /// Not decided.
    Undecided,
}

impl Tone {
    /// The class that gives it colour and sign in a page.
    pub fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}

/// A headed part of the report.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Section {
    /// Where links point to.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "block", content = "content", rename_all = "kebab-case")]
pub enum Block {
    /// A heading below the section's.
    Heading(String),
    /// A paragraph.
    Paragraph(String),
    /// A paragraph set apart: something that is easily overlooked.
    Note(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Figure),
    /// Rows that a reader takes away to calculate with: a page offers them as a file, the other renderings leave them out.
    Data(Table),
    /// Preformatted texts, side by side where there is room. The terminal leaves them out.
    Codes(Vec<Code>),
    /// Details that few readers open: summary, content. The terminal leaves them out.
    Folded(String, Vec<Block>),
}

/// A preformatted text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Code {
    /// What it is.
    pub title: String,
    /// Its lines, none of them empty.
    pub lines: Vec<String>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Its columns; the first one names the row.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Row>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    /// Its heading.
    pub head: String,
    /// Whether it holds numbers (set flush right).
    pub numeric: bool,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// What sort of row it is.
    pub kind: RowKind,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// What sort of row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A row like the others.
    #[default]
    Plain,
    /// The difference between rows above.
    Delta,
    /// A sum of rows above.
    Total,
    /// Shown, but not counted.
    Muted,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Cell {
    /// The value.
    pub text: String,
    /// What belongs to it, such as an interval; empty without.
    pub note: String,
    /// What is judged of it.
    pub tone: Tone,
}

/// A figure, its description and the table of its data.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Its number, from 1, in the order of the report.
    pub number: usize,
    /// Where links point to; it stays the same when other figures come or go.
    pub id: &'static str,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Whether it is drawn for a narrow column, as those of the brief are.
    pub narrow: bool,
    /// Names of the colours, in their order.
    pub legend: Vec<String>,
    /// The drawing's numbers.
    pub panels: Panels,
    /// The same numbers as a table.
    pub table: Table,
}

impl Figure {
    /// A figure that has no number yet; `None` where there is nothing to draw.
    pub(crate) fn new<P>(
        id: &'static str,
        title: impl Into<String>,
        caption: impl Into<String>,
        kind: fn(Vec<P>) -> Panels,
        panels: Vec<P>,
        table: Table,
    ) -> Option<Self> {
        let (title, caption, legend) = (title.into(), caption.into(), Vec::new());
        (!panels.is_empty()).then(|| Self { number: 0, id, title, caption, narrow: false, legend, panels: kind(panels), table })
    }

    /// What it shows as a sentence: with a full stop, unless it is a question.
    pub(crate) fn headline(&self) -> String {
        if self.title.ends_with('?') { self.title.clone() } else { format!("{}.", self.title) }
    }
}

impl Cell {
    /// A value alone.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A value and what belongs to it.
    pub fn noted(text: impl Into<String>, note: impl Into<String>) -> Self {
        Self { text: text.into(), note: note.into(), tone: Tone::Plain }
    }

    /// The same cell, judged.
    #[must_use]
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// Value and note on one line: `2.31× (2.10–2.54)`.
    pub fn line(&self) -> String {
        if self.note.is_empty() { self.text.clone() } else { format!("{} ({})", self.text, self.note) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl Table {
    /// An empty table. ` | ` divides its headings; one that starts with `#` is a column of numbers.
    pub(crate) fn new(caption: impl Into<String>, heads: &str) -> Self {
        let mut table = Self { caption: caption.into(), ..Self::default() };
        for head in heads.split(" | ") {
            let number = head.strip_prefix('#');
            table.column(number.unwrap_or(head), number.is_some());
        }
        table
    }

    pub(crate) fn of_figure(heads: &str) -> Self {
        Self::new("Data of the figure", heads)
    }

    pub(crate) fn column(&mut self, head: &str, numeric: bool) {
        self.columns.push(Column { head: head.to_owned(), numeric });
    }

    pub(crate) fn row<C: Into<Cell>>(&mut self, kind: RowKind, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<Cell> = cells.into_iter().map(C::into).collect();
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.caption);
        self.rows.push(Row { kind, cells });
    }

    pub(crate) fn add<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.row(RowKind::Plain, cells);
    }
}
