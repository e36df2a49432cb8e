//! Tests of what haft's own writing may have a terminal do.

use super::super::ATTACKS;
use super::*;

const FRAME: Written = Written::Frame(10, 3);

fn framed(inner: &str) -> String {
    format!("\x1b[?2026h\x1b[?25l{inner}\x1b[?2026l")
}

#[test]
fn what_haft_writes_is_let_pass() {
    let check = |text: &str, written| assert_eq!(oversteps(text.as_bytes(), written), [""; 0], "{text:?}");
    check("", FRAME);
    check(&framed(""), FRAME);
    check(&framed("\x1b[0m\x1b[2J\x1b[1;1H\x1b[0mhi\x1b[2;3H\x1b[?25h"), FRAME);
    check(&framed("\x1b[3;10H\x1b[0;1;9;38;2;1;2;255;48;5;7m日\x1b[0;31;107mé\x1b[0m"), FRAME);
    check("a\x1b[0;1mb\x1b[0m\r\n\r\n", Written::Rows);
    check("\x1b]2;haft – a;b\x1b\\", Written::Title);
    check("a\tb日\n\n", Written::Lines);
    let image = "\x1b_Ga=p,i=7,p=1,c=3,r=2,C=1,q=2\x1b\\";
    check(&framed(&format!("\x1b[1;1H\x1b[0mhi\x1b[2;3H{image}")), Written::Pictures(10, 3));
    check("\x1b]52;c;aGk=\x1b\\", Written::Clipboard);
    check("\x1b]52;c;aGk=\x1b\\\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\", Written::Clipboard);
}

#[test]
fn every_attack_is_found_wherever_it_stands() {
    let harmless = ["not a character"];
    for (name, attack) in ATTACKS.iter().filter(|(name, _)| !harmless.contains(name)) {
        let cell = framed(&format!("\x1b[1;1H\x1b[0m{attack}"));
        let row = format!("{attack}\r\n");
        let title = format!("\x1b]2;{attack}\x1b\\");
        assert!(!oversteps(cell.as_bytes(), FRAME).is_empty(), "{name} in a frame");
        assert!(!oversteps(row.as_bytes(), Written::Rows).is_empty(), "{name} in a row");
        assert!(!oversteps(title.as_bytes(), Written::Title).is_empty(), "{name} in a title");
        let line = format!("{attack}\n");
        assert!(!oversteps(line.as_bytes(), Written::Lines).is_empty(), "{name} in a line");
        assert!(!oversteps(cell.as_bytes(), Written::Pictures(10, 3)).is_empty(), "{name} beside an image");
    }
}

#[test]
fn functions_of_its_own_are_found_where_it_does_not_write_them() {
    let check = |text: &str, written| {
        assert_ne!(oversteps(text.as_bytes(), written), [""; 0], "{text:?}");
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
    check("a", FRAME);
    check(&format!("{0}{0}", framed("")), FRAME);
    check("\x1b[?2026h", FRAME);
    check("a\rb\r\n", Written::Rows);
    check("a", Written::Rows);
    check("\x1b[2J\r\n", Written::Rows);
    check("\x1b[0ma\n", Written::Lines);
    check("a\r\n", Written::Lines);
    check("a", Written::Lines);
    check(&framed("\x1b_Ga=p,i=7,p=1,c=3,r=2,C=1,q=2\x1b\\"), FRAME);
    check("\x1b]2;a\x07", Written::Title);
    check("\x1b]0;a\x1b\\", Written::Title);
    check("\x1b]52;c;a b\x1b\\", Written::Clipboard);
    check("\x1b]52;p;aGk=\x1b\\", Written::Clipboard);
    check("\x1b]52;c;aGk=\x1b\\x", Written::Clipboard);
}
