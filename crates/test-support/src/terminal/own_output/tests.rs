//! Tests of the checks of haft's own output.

use super::super::ATTACKS;
use super::*;

const FRAME: OutputKind = OutputKind::Frame(10, 3);

const STRIP: OutputKind = OutputKind::Inline { columns: 10, rows: 3, before: 2 };

fn framed(inner: &str) -> String {
    format!("\x1b[?2026h\x1b[?25l{inner}\x1b[?2026l")
}

#[test]
fn allows_output_of_haft() {
    let check =
        |text: &str, written| assert_eq!(forbidden_actions(text.as_bytes(), written), [""; 0], "{text:?}");
    check("", FRAME);
    check(&framed(""), FRAME);
    check(&framed("\x1b[0m\x1b[2J\x1b[1;1H\x1b[0mhi\x1b[2;3H\x1b[?25h"), FRAME);
    check(&framed("\x1b[3;10H\x1b[0;1;9;38;2;1;2;255;48;5;7m日\x1b[0;31;107mé\x1b[0m"), FRAME);
    let last = "\x1b[J \x1b[0;2ms\x1b[0m\r";
    let rows = format!("\x1b[Ka\r\n\x1b[K\x1b[0;31mb\x1b[0m\r\n\x1b[Kc\r\n{last}");
    check(&framed(&format!("\r\x1b[1A\x1b[0m{rows}\x1b[2A\x1b[10G\x1b[?25h")), STRIP);
    check(&framed(&format!("\r\x1b[0m{rows}")), STRIP);
    check(&framed("\x1b[2A\x1b[3G\x1b[0mhi\x1b[1B\x1b[1G\x1b[0mho\r\x1b[1B\x1b[3G\x1b[?25h"), STRIP);
    check("\x1b[?2026h\x1b[1A\x1b[3G\x1b[?25h\x1b[?2026l", STRIP);
    check("", STRIP);
    check("\x1b[?2026h\r\x1b[1A\x1b[0m\x1b[J\x1b[?2026l", OutputKind::InlineRemoval(2));
    check("", OutputKind::InlineRemoval(2));
    check("a\x1b[0;1mb\x1b[0m\r\n\r\n", OutputKind::Rows);
    check("\x1b]2;haft – a;b\x1b\\", OutputKind::Title);
    check("a\tb日\n\n", OutputKind::Lines);
    let image = "\x1b_Ga=p,i=7,p=1,c=3,r=2,C=1,q=2\x1b\\";
    check(&framed(&format!("\x1b[1;1H\x1b[0mhi\x1b[2;3H{image}")), OutputKind::Pictures(10, 3));
    check("\x1b]52;c;aGk=\x1b\\", OutputKind::Clipboard);
    check("\x1b]52;c;aGk=\x1b\\\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\", OutputKind::Clipboard);
}

#[test]
fn finds_every_attack_at_every_position() {
    let harmless = ["not a character"];
    for (name, attack) in ATTACKS.iter().filter(|(name, _)| !harmless.contains(name)) {
        let cell = framed(&format!("\x1b[1;1H\x1b[0m{attack}"));
        let strip = format!("\r\x1b[0m\x1b[Ka\r\n\x1b[K{attack}\r\n\x1b[J\r");
        let change = format!("\x1b[1G\x1b[0m{attack}\r");
        let row = format!("{attack}\r\n");
        let title = format!("\x1b]2;{attack}\x1b\\");
        assert!(!forbidden_actions(cell.as_bytes(), FRAME).is_empty(), "{name} in a frame");
        assert!(
            !forbidden_actions(framed(&strip).as_bytes(), STRIP).is_empty(),
            "{name} at the end of the screen"
        );
        assert!(!forbidden_actions(framed(&change).as_bytes(), STRIP).is_empty(), "{name} in a change there");
        assert!(!forbidden_actions(row.as_bytes(), OutputKind::Rows).is_empty(), "{name} in a row");
        assert!(!forbidden_actions(title.as_bytes(), OutputKind::Title).is_empty(), "{name} in a title");
        let line = format!("{attack}\n");
        assert!(!forbidden_actions(line.as_bytes(), OutputKind::Lines).is_empty(), "{name} in a line");
        assert!(
            !forbidden_actions(cell.as_bytes(), OutputKind::Pictures(10, 3)).is_empty(),
            "{name} beside an image"
        );
    }
}

#[test]
fn finds_own_functions_at_wrong_positions() {
    let check = |text: &str, written| {
        assert_ne!(forbidden_actions(text.as_bytes(), written), [""; 0], "{text:?}");
    };
    for inner in [
        "\x1b[1;1Ha\x1b[2J",
        "\x1b[1;1Ha\x1b[?25hb",
        "\x1b[4;1Ha",
        "\x1b[1;11Ha",
        "\x1b[0;0Ha",
        "\x1b[1;1Ha\x1b[31mb",
        "\x1b[1;1H\x1b[0;31mb",
        "\x1b[1;1H\x1b[0;5;1mb",
        "\x1b[1;1H\x1b[0;31;32mb\x1b[0m",
        "\x1b[1;1H\x1b[0;38;2;1;2;256mb\x1b[0m",
        "\x1b[1;1H\x1b[0;4:3mb\x1b[0m",
        "\x1b[1;1Ha\nb",
        "a",
        "\x1b[?2026l\x1b[?2026h",
    ] {
        check(&framed(inner), FRAME);
    }
    for inner in [
        "\r\x1b[2A\x1b[0m\x1b[Ka\r\n\x1b[K\r\n\x1b[J\r",
        "\r\x1b[Ka\r\n\x1b[K\r\n\x1b[J\r",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[J\r",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[K\n\x1b[K\r\n\x1b[J\r",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[K\x1b[1A\r\n\x1b[J\r",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[K\r\n\x1b[J\r\x1b[3A\x1b[1G\x1b[?25h",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[K\r\n\x1b[J\r\x1b[1A\x1b[11G\x1b[?25h",
        "\r\x1b[0m\x1b[Ka\r\n\x1b[K\r\n\x1b[J\x1b[0;31mb\r",
        "\x1b[3A\x1b[1Ga",
        "\x1b[2A\x1b[1Ga\x1b[1B\x1b[1B\x1b[1B\x1b[1Gb",
        "\x1b[1A\x1b[11Ga",
        "\x1b[1G\x1b[0;31ma",
        "\x1b[1Ga\x1b[J",
        "\x1b[1;1Ha",
        "a",
    ] {
        check(&framed(inner), STRIP);
    }
    check("\r", STRIP);
    check("\x1b[?2026h\r\x1b[2A\x1b[0m\x1b[J\x1b[?2026l", OutputKind::InlineRemoval(2));
    check("\x1b[?2026h\r\x1b[0m\x1b[2J\x1b[?2026l", OutputKind::InlineRemoval(2));
    check("\x1b[J", OutputKind::InlineRemoval(2));
    check(&framed("\x1b[1A\x1b[1Ga"), FRAME);
    check("a", FRAME);
    check(&format!("{0}{0}", framed("")), FRAME);
    check("\x1b[?2026h", FRAME);
    check("a\rb\r\n", OutputKind::Rows);
    check("a", OutputKind::Rows);
    check("\x1b[2J\r\n", OutputKind::Rows);
    check("\x1b[0ma\n", OutputKind::Lines);
    check("a\r\n", OutputKind::Lines);
    check("a", OutputKind::Lines);
    check(&framed("\x1b_Ga=p,i=7,p=1,c=3,r=2,C=1,q=2\x1b\\"), FRAME);
    check("\x1b]2;a\x07", OutputKind::Title);
    check("\x1b]0;a\x1b\\", OutputKind::Title);
    check("\x1b]52;c;a b\x1b\\", OutputKind::Clipboard);
    check("\x1b]52;p;aGk=\x1b\\", OutputKind::Clipboard);
    check("\x1b]52;c;aGk=\x1b\\x", OutputKind::Clipboard);
}
