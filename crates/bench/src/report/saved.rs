//! Reports saved as JSON, one file for each row. `docs/benchmarks.md` has the schema.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Report;

/// Returns the directory of the reports, in the target directory of the build.
pub(crate) fn reports_dir() -> Result<PathBuf> {
    let binary = std::env::current_exe().context("find the path of this binary")?;
    Ok(binary.ancestors().nth(2).unwrap_or(Path::new("target")).join("bench"))
}

/// Reads all reports of a folder. Returns the reports, and the JSON files that are not reports.
pub(crate) fn load_all(folder: &Path) -> Result<(Vec<Report>, Vec<PathBuf>)> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let (mut reports, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let text = std::fs::read(&file).with_context(|| format!("read {}", file.display()))?;
        match serde_json::from_slice(&text) {
            Ok(report) => reports.push(report),
            Err(_) => others.push(file),
        }
    }
    Ok((reports, others))
}

impl Report {
    /// Writes `<folder>/<row>.json`.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let file = folder.join(format!("{}.json", self.row));
        std::fs::write(&file, format!("{:#}\n", self.to_json()?))
            .with_context(|| format!("write {}", file.display()))
    }

    /// Returns the report as JSON, including the derived verdicts.
    pub(crate) fn to_json(&self) -> Result<Value> {
        let mut all = serde_json::to_value(self)?;
        let lines = all["lines"].as_array_mut().into_iter().flatten();
        for (line, json) in self.lines.iter().zip(lines) {
            json["verdict"] = json!(line.verdict().text());
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{line, report};
    use super::super::{LineGoal, LinePurpose, MeasuredValue, ReportLine};
    use super::*;

    fn samples() -> Report {
        let mut curve = line(1.5, true);
        curve.on_curve("host", 200.0);
        let value = MeasuredValue::Value { value: 3.0 };
        let figure = ReportLine { found: value, goal: Some(LineGoal::without_gate(2.0)), ..line(1.0, true) };
        let control = ReportLine { goal: None, purpose: LinePurpose::Control, ..line(1.0, true) };
        report(vec![control, curve, figure])
    }

    #[test]
    fn loads_saved_reports() {
        let folder = tempfile::tempdir().unwrap();
        samples().save(folder.path()).unwrap();
        std::fs::write(folder.path().join("other.json"), "{}").unwrap();
        std::fs::write(folder.path().join("index.html"), "").unwrap();
        let (reports, others) = load_all(folder.path()).unwrap();
        assert_eq!(reports, [samples()]);
        assert_eq!(others, [folder.path().join("other.json")]);
    }

    #[test]
    fn serializes_flat_lines() {
        let json = samples().to_json().unwrap();
        insta::assert_snapshot!(json["lines"][1].to_string(), @r##"{"what":"xxxxxxxxxxxxxxxxxxxxxxxxxx","unit":"s","base":6.44e-6,"candidate":9.66e-6,"ratio":1.5,"spread":0.004,"goal":1.5,"gate":1.8,"purpose":"gated","sound":true,"point":{"curve":"host","x":200.0},"verdict":"ok"}"##);
        insta::assert_snapshot!(json["lines"][2].to_string(), @r##"{"what":"xxxxxxxxxxxxxxxxxxxxxxxxxx","unit":"s","value":3.0,"goal":2.0,"purpose":"gated","sound":true,"verdict":"over goal"}"##);
    }
}
