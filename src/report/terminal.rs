//! A heat map in the terminal: two cells in one character, the upper and the lower half of it.

use super::grid::Grid;
use super::palette::{EMPTY, Rgb, ansi256, colour, shade};
use super::units;
use crate::base::nouns::counted;
use crate::base::permutation::identity;
use crate::matrix::SparseMatrix;

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// 24 bits.
    True,
    /// The 256 colours of xterm.
    Indexed,
    /// No colours; cells are characters of different darkness.
    None,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// On a terminal that has them, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The colours that the terminal can show, found from its variables.
pub fn colours(
    when: When,
    is_terminal: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Colours {
    let set = |name: &str| variable(name).filter(|v| !v.is_empty());
    let wanted = match when {
        When::Never => false,
        When::Always => true,
        When::Auto => is_terminal && set("NO_COLOR").is_none(),
    };
    let term = set("TERM").unwrap_or_default();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
    let rich = matches!(set("COLORTERM").as_deref(), Some("truecolor" | "24bit"))
        || term.ends_with("-direct");
    match (wanted, when) {
        (false, _) => Colours::None,
        // The user asked for colours (`--color always`): neither the locale nor `TERM=dumb` prevents them.
        (true, When::Always) if rich => Colours::True,
        (true, When::Always) => Colours::Indexed,
        _ if !utf8 || term == "dumb" => Colours::None,
        _ if rich => Colours::True,
        _ if term.contains("256") => Colours::Indexed,
        _ => Colours::None,
    }
}

/// The picture of a matrix.
///
/// `width` is the room in characters. `boundaries` are the tasks (without 0) at which another node begins.
/// They are marked on both axes. Lines end in a newline.
pub fn heat_map(
    matrix: &SparseMatrix,
    boundaries: &[usize],
    width: usize,
    colours: Colours,
) -> String {
    /// Most cells in each direction; more do not fit on most screens.
    const MOST: usize = 80;
    let tasks = matrix.tasks();
    let label = tasks.saturating_sub(1).to_string().len().max(7);
    let plain = colours == Colours::None;
    let across = width.saturating_sub(label + 3).max(8);
    let most = (if plain { across / 2 } else { across }).clamp(1, MOST);
    let grid = Grid::new(matrix, &identity(tasks), most);
    let Some(range) = grid.range() else {
        return "  no bytes were sent\n".into();
    };
    // A small matrix is drawn larger.
    let zoom = (most / grid.side().max(1)).clamp(1, if plain { 1 } else { 4 });
    let starts: Vec<usize> = boundaries.iter().map(|b| b / grid.per_cell()).collect();
    let picture = Picture { grid: &grid, range, zoom, starts: &starts, label, colours };
    let mut out = picture.top();
    out.push_str(&picture.body());
    out.push_str(&picture.legend());
    out
}

struct Picture<'a> {
    grid: &'a Grid,
    range: (u64, u64),
    zoom: usize,
    /// Cells that begin a node.
    starts: &'a [usize],
    label: usize,
    colours: Colours,
}

impl Picture<'_> {
    /// True for the first cell, and for the cells that begin a node. If no nodes are marked: for every fourth
    /// cell, or every eighth of many.
    fn is_numbered(&self, cell: usize) -> bool {
        let tick = if self.grid.side() <= 16 { 4 } else { 8 };
        let marked = self.starts.contains(&cell);
        cell == 0 || marked || self.starts.is_empty() && cell.is_multiple_of(tick)
    }

    /// Characters of a cell in a line.
    fn wide(&self) -> usize {
        if self.colours == Colours::None { 2 } else { self.zoom }
    }

    /// Caption, numbers of the columns, marks of the nodes.
    fn top(&self) -> String {
        let side = self.grid.side();
        let wide = self.wide();
        let label = self.label;
        let cells = match self.grid.per_cell() {
            1 => String::new(),
            n => format!(", one cell is {n} × {n} of them"),
        };
        let mut out = format!(
            "{:>label$}  receiver (column) →   {}{cells}\n",
            "",
            counted(self.grid.tasks(), "task")
        );
        let mut numbers = vec![' '; side * wide + 12];
        let mut free = 0;
        for cell in 0..side {
            let at = cell * wide;
            let text = (cell * self.grid.per_cell()).to_string();
            if self.is_numbered(cell) && at >= free {
                for (k, c) in text.chars().enumerate() {
                    numbers[at + k] = c;
                }
                free = at + text.len() + 1;
            }
        }
        let numbers: String = numbers.into_iter().collect();
        out.push_str(&format!("{:>label$}  {}\n", "sender", numbers.trim_end()));
        let (corner, bar, tick) = match self.colours {
            Colours::None => ('+', '-', '+'),
            _ => ('┌', '─', '┬'),
        };
        out.push_str(&format!("{:>label$} {corner}", "(row) ↓"));
        for cell in 0..side {
            for k in 0..wide {
                let marked = k == 0 && self.starts.contains(&cell);
                out.push(if marked { tick } else { bar });
            }
        }
        out.push('\n');
        out
    }

    fn body(&self) -> String {
        let plain = self.colours == Colours::None;
        // Rows of pixels; a line of text shows two of them, or one in plain characters.
        let pixels = self.grid.side() * self.zoom;
        let per_line = if plain { 1 } else { 2 };
        let mut out = String::new();
        for line in 0..pixels.div_ceil(per_line) {
            let first = line * per_line;
            let rows = [first, first + per_line - 1]
                .map(|pixel| (pixel < pixels).then_some(pixel / self.zoom));
            // The rows of cells that begin in this line.
            let beginning = (first..(first + per_line).min(pixels))
                .filter(|pixel| pixel.is_multiple_of(self.zoom))
                .map(|pixel| pixel / self.zoom);
            let node = beginning.clone().find(|cell| self.starts.contains(cell));
            let number = node.or_else(|| beginning.clone().find(|&cell| self.is_numbered(cell)));
            let label = number.map_or(String::new(), |n| (n * self.grid.per_cell()).to_string());
            let edge = match (plain, node.is_some()) {
                (true, true) => '+',
                (true, false) => '|',
                (false, true) => '├',
                (false, false) => '│',
            };
            out.push_str(&format!("{label:>width$} {edge}", width = self.label));
            self.cells_of_line(rows, &mut out);
            out.push('\n');
        }
        out
    }

    fn cells_of_line(&self, rows: [Option<usize>; 2], out: &mut String) {
        let place = |row, column| self.grid.place(row, column, self.range);
        if self.colours == Colours::None {
            for column in 0..self.grid.side() {
                let c = rows[0].and_then(|row| place(row, column)).map_or(' ', shade);
                out.extend([c, c]);
            }
            while out.ends_with(' ') {
                out.pop();
            }
            return;
        }
        let mut now = None;
        for column in 0..self.grid.side() {
            let [upper, lower] =
                rows.map(|row| row.and_then(|row| place(row, column)).map_or(EMPTY, colour));
            if now != Some((upper, lower)) {
                out.push_str(&self.code(38, upper));
                // If the number of rows is odd, the last line has no lower row.
                out.push_str(&match rows[1] {
                    Some(_) => self.code(48, lower),
                    None => "\x1b[49m".into(),
                });
                now = Some((upper, lower));
            }
            out.extend(std::iter::repeat_n('▀', self.zoom));
        }
        out.push_str("\x1b[0m");
    }

    fn code(&self, layer: u8, rgb: Rgb) -> String {
        match self.colours {
            Colours::True => format!("\x1b[{layer};2;{};{};{}m", rgb[0], rgb[1], rgb[2]),
            _ => format!("\x1b[{layer};5;{}m", ansi256(rgb)),
        }
    }

    /// The scale, with its ends in bytes.
    fn legend(&self) -> String {
        const STEPS: usize = 16;
        let mut scale = String::new();
        for k in 0..STEPS {
            let place = k as f64 / (STEPS - 1) as f64;
            match self.colours {
                Colours::None => scale.push(shade(place)),
                _ => scale.push_str(&format!("{}█", self.code(38, colour(place)))),
            }
        }
        if self.colours != Colours::None {
            scale.push_str("\x1b[0m");
        }
        let nodes = if self.starts.is_empty() { "" } else { "; marks on the axes: nodes" };
        let (low, high) = (units::bytes(self.range.0), units::bytes(self.range.1));
        let none = if self.colours == Colours::None { "empty" } else { "dark" };
        format!(
            "{:>1$}  {low} {scale} {high} in a cell (log scale), {none}: 0{nodes}\n",
            "", self.label
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Traffic;

    fn ring(tasks: u32) -> SparseMatrix {
        let entries: Vec<_> = (0..tasks)
            .map(|t| (t, (t + 1) % tasks, Traffic { bytes: 10 << t.min(40), messages: 1 }))
            .collect();
        SparseMatrix::from_entries(tasks as usize, &entries)
    }

    fn variables(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_string())
    }

    #[test]
    fn capabilities() {
        let utf8 = ("LANG", "C.UTF-8");
        let full = [("COLORTERM", "truecolor"), ("TERM", "xterm-256color"), utf8];
        let auto = |tty, vars: &[(&str, &str)]| colours(When::Auto, tty, variables(vars));
        assert_eq!(auto(true, &full), Colours::True);
        assert_eq!(auto(true, &full[1..]), Colours::Indexed);
        assert_eq!(auto(false, &full), Colours::None);
        assert_eq!(auto(true, &[full[0], full[1], utf8, ("NO_COLOR", "1")]), Colours::None);
        assert_eq!(auto(true, &full[..2]), Colours::None);
        assert_eq!(auto(true, &[("TERM", "dumb"), utf8]), Colours::None);
        assert_eq!(colours(When::Always, false, variables(&[])), Colours::Indexed);
        assert_eq!(colours(When::Never, true, variables(&full)), Colours::None);
    }

    #[test]
    fn plain_picture() {
        let text = heat_map(&ring(8), &[4], 80, Colours::None);
        let expected = "         receiver (column) →   8 tasks
 sender  0       4
(row) ↓ +--------+-------
      0 |  ..
        |    ::
";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.lines().count(), 3 + 8 + 1);
        assert!(text.contains("\n      4 +          ++\n"), "{text}");
    }

    #[test]
    fn large_matrices_fit_the_width() {
        for colours in [Colours::None, Colours::Indexed, Colours::True] {
            for tasks in [1, 2, 3, 7, 100, 1000] {
                let text = heat_map(&ring(tasks), &[], 60, colours);
                for line in text.lines().filter(|l| l.contains('│') || l.contains('|')) {
                    let mut visible = 0;
                    let mut escape = false;
                    for c in line.chars() {
                        match (escape, c) {
                            (false, '\x1b') => escape = true,
                            (true, 'm') => escape = false,
                            (false, _) => visible += 1,
                            _ => {}
                        }
                    }
                    assert!(visible <= 60, "{visible} characters: {line:?}");
                }
            }
        }
        assert!(heat_map(&SparseMatrix::empty(4), &[], 80, Colours::True).contains("no bytes"));
        assert!(heat_map(&SparseMatrix::empty(0), &[], 0, Colours::None).contains("no bytes"));
    }
}
