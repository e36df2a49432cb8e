//! Formats a report as a table of 80 columns.

use std::fmt::{self, Write as _};

use super::{MeasuredValue, Report, ReportLine};
use crate::method::Comparison;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            format!("{:<26}{:>9}{:>9}{:>8}{:>7}{:>7}\n", self.row, "base", "haft", "ratio", "spread", "goal");
        for line in &self.lines {
            writeln!(table, "{line}")?;
        }
        for reason in &self.skipped {
            writeln!(table, "skipped: {reason}")?;
        }
        writeln!(table, "{}, {}", self.setting, self.load)?;
        f.write_str(&table)
    }
}

impl fmt::Display for ReportLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self.found {
            MeasuredValue::Ratio(Comparison { base, candidate, ratio, spread }) => format!(
                "{:<26}{:>9}{:>9}{:>8}{:>7}{:>7}  {}",
                self.what,
                self.unit.show(base),
                self.unit.show(candidate),
                format!("{ratio:.2}x"),
                format!("{:.1}%", spread * 100.0),
                self.goal.map_or_else(String::new, |goal| format!("{:.2}x", goal.goal)),
                self.verdict().text(),
            ),
            MeasuredValue::Value { value } => format!(
                "{:<26}{:>18}{:>22}  {}",
                self.what,
                self.unit.show(value),
                self.goal.map_or_else(String::new, |goal| self.unit.show(goal.goal)),
                self.verdict().text(),
            ),
        };
        f.write_str(line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{line, report};
    use super::*;

    #[test]
    fn table_fits_80_columns() {
        let value = ReportLine { found: MeasuredValue::Value { value: 9.75e-3 }, ..line(9.0, true) };
        let table = report(vec![line(1.514, true), line(1.514, false), value]).to_string();
        assert!(table.lines().all(|line| line.len() <= 80), "{table}");
        assert!(table.contains("6.4 us   9.8 us   1.51x   0.4%  1.50x  over goal"), "{table}");
        assert!(table.contains("9.75 ms            1500.00 ms  ok"), "{table}");
        assert!(
            table.ends_with("skipped: python3 is not installed\non one CPU, load 0.5 to 1.5\n"),
            "{table}"
        );
    }
}
