//! The lines that make rows a tree.

use super::Row;

/// The deepest level whose lines are known.
const DEEPEST: usize = 62;

/// Columns of a level.
const LEVEL: usize = 3;

/// For each row the levels at which there is another row below it, one bit each. Levels behind the deepest count as it.
pub(super) fn branches(rows: &[Row]) -> Vec<u64> {
    let mut below = 0_u64;
    let mut branches: Vec<u64> = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        let bit = 1 << row.depth.min(DEEPEST);
        branches.push(below & (bit | (bit - 1)));
        below = (below & (bit - 1)) | bit;
    }
    branches.reverse();
    branches
}

/// What stands before a row of a depth, in at most so many columns: the lowest levels, and `…` for what is left out.
pub(super) fn lines(depth: usize, branches: u64, most: usize) -> String {
    let shown = depth.min(most / LEVEL);
    let mut lines = String::from(if shown < depth { "… " } else { "" });
    for level in depth - shown + 1..=depth {
        let goes_on = branches & (1 << level.min(DEEPEST)) != 0;
        lines.push_str(match (level == depth, goes_on) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(depths: &[usize], most: usize, expect: &str) {
        let rows: Vec<Row> = depths.iter().map(|depth| Row { depth: *depth, ..Row::default() }).collect();
        let drawn = rows.iter().zip(branches(&rows)).map(|(row, bits)| lines(row.depth, bits, most));
        assert_eq!(drawn.collect::<Vec<_>>().join("/"), expect);
    }

    #[test]
    fn rows_hang_on_the_one_they_belong_to() {
        check(&[0, 1, 1], 9, "/├─ /└─ ");
        check(&[0, 1, 2, 2, 1, 2], 9, "/├─ /│  ├─ /│  └─ /└─ /   └─ ");
        check(&[0, 1, 0, 1], 9, "/└─ //└─ ");
        check(&[0, 2, 1], 9, "/│  └─ /└─ ");
        check(&[3, 2], 6, "… │  └─ /   └─ ");
        check(&[5, 1], 0, "… /… ");
        check(&[70, 70], 3, "… ├─ /… └─ ");
    }
}
