//! Tests of images in a pseudo-terminal: the output, and its complete removal.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};

/// Makes a PNG of a size. A large one has no pixels and is only valid for header checks.
pub(crate) fn png(across: u32, down: u32) -> String {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(across.to_be_bytes());
    png.extend(down.to_be_bytes());
    png.extend(b"\x08\x02\0\0\0");
    png.resize(91, 0);
    STANDARD.encode(png)
}

fn picture() -> String {
    let mut png = Cursor::new(Vec::new());
    RgbImage::from_pixel(40, 60, image::Rgb([200, 10, 10])).write_to(&mut png, ImageFormat::Png).unwrap();
    STANDARD.encode(png.into_inner())
}

#[cfg(unix)]
mod terminal {
    use haft_test_support::pty::{ProgramExit, Pty, PtySetup};

    use super::*;
    use crate::terminal::peer;

    const KITTY: &[(&str, &str)] = &[("TERM", "xterm-kitty")];
    const ITERM: &[(&str, &str)] = &[("TERM_PROGRAM", "iTerm.app")];
    const FOOT: &[(&str, &str)] = &[("TERM", "foot")];

    fn setup(variables: &[(&str, &str)], image: &str) -> PtySetup {
        let setup = peer(&[&format!("image={image}")]).pixels(10, 20);
        variables.iter().fold(setup, |setup, (name, value)| setup.env(name, value))
    }

    fn running(variables: &[(&str, &str)], image: &str) -> Pty {
        let pty = setup(variables, image).spawn();
        pty.wait_for("peer 80x24");
        pty
    }

    fn quit(pty: &Pty) {
        pty.press(&["ctrl+d"]);
        assert_eq!(pty.wait_for_end(), ProgramExit { code: 0, signal: None });
    }

    fn written(pty: &Pty, from: usize) -> String {
        String::from_utf8_lossy(&pty.bytes()[from..]).into_owned()
    }

    /// Returns the image number in Kitty's output.
    fn number(pty: &Pty) -> String {
        let text = written(pty, 0);
        let (_, rest) = text.split_once("\x1b_Ga=t,t=d,f=100,i=").unwrap();
        rest.split(',').next().unwrap().to_owned()
    }

    #[test]
    fn kitty_image_is_shown_covered_moved_and_deleted() {
        let pty = running(KITTY, &picture());
        pty.wait_for_bytes(0, b"c=4,r=3,C=1,q=2\x1b\\");
        let number = number(&pty);
        let place = format!("\x1b_Ga=p,i={number},p=1,c=4,r=3,C=1,q=2\x1b\\");
        let take_down = format!("\x1b_Ga=d,d=i,i={number},p=1,q=2\x1b\\");
        assert!(
            written(&pty, 0).contains(&format!("\x1b[3;61H\x1b_Ga=t,t=d,f=100,i={number},q=2,m=")),
            "{pty:?}"
        );
        pty.wait_gone("[PNG");
        // Text drawn over the image covers it, and the label is shown.
        let from = pty.bytes().len();
        pty.press(&["c"]);
        pty.wait_for_bytes(from, take_down.as_bytes());
        pty.wait_for("[PNG, 40×60");
        let from = pty.bytes().len();
        pty.press(&["c", "m"]);
        pty.wait_for_bytes(from, format!("\x1b[4;61H{place}").as_bytes());
        assert!(!written(&pty, from).contains("a=t"), "the image is sent once: {pty:?}");
        // Everything is redrawn, because the terminal may have lost it.
        let from = pty.bytes().len();
        pty.press(&["ctrl+l"]);
        pty.wait_for_bytes(from, place.as_bytes());
        assert!(written(&pty, from).contains("a=t,t=d"), "{pty:?}");
        let from = pty.bytes().len();
        quit(&pty);
        let end = written(&pty, from);
        let gone = end.find(&format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\"));
        assert!(gone.is_some() && gone < end.find("\x1b[?1049l"), "{pty:?}");
    }

    #[test]
    fn image_display_can_be_toggled() {
        let pty = running(KITTY, &picture());
        pty.wait_for_bytes(0, b"c=4,r=3,C=1,q=2\x1b\\");
        let from = pty.bytes().len();
        pty.press(&["i"]);
        pty.wait_for_bytes(from, b"\x1b_Ga=d,d=i,i=");
        pty.wait_for("[PNG, 40×60");
        let from = pty.bytes().len();
        pty.press(&["i"]);
        pty.wait_for_bytes(from, b"c=4,r=3,C=1,q=2\x1b\\");
        quit(&pty);
    }

    #[test]
    fn external_editor_gets_terminal_without_images() {
        let pty = setup(KITTY, &picture()).env("VISUAL", "true").spawn();
        pty.wait_for_bytes(0, b"c=4,r=3,C=1,q=2\x1b\\");
        let number = number(&pty);
        let from = pty.bytes().len();
        pty.press(&["ctrl+e"]);
        pty.wait_for_bytes(from, format!("\x1b_Ga=d,d=I,i={number},q=2\x1b\\").as_bytes());
        pty.wait_for("edited");
        pty.wait_for_bytes(from, b"c=4,r=3,C=1,q=2\x1b\\");
        quit(&pty);
    }

    #[test]
    fn resize_shows_image_again() {
        let pty = running(KITTY, &picture());
        pty.wait_for_bytes(0, b"c=4,r=3,C=1,q=2\x1b\\");
        let from = pty.bytes().len();
        pty.resize(90, 30);
        pty.wait_for("peer 90x30");
        pty.wait_for_bytes(from, b"c=4,r=3,C=1,q=2\x1b\\");
        quit(&pty);
    }

    #[test]
    fn iterm_gets_file_and_cells_after_removal() {
        let pty = running(ITERM, &picture());
        let head = b"width=4;height=3;preserveAspectRatio=0;doNotMoveCursor=1:";
        pty.wait_for_bytes(0, head);
        pty.wait_gone("[PNG");
        let from = pty.bytes().len();
        pty.press(&["c"]);
        // The label and the blanks overwrite it.
        pty.wait_for_bytes(from, b"\x1b[5;61H    ");
        pty.wait_for("[PNG, 40×60");
        pty.wait_for("over");
        let from = pty.bytes().len();
        pty.press(&["c"]);
        pty.wait_for_bytes(from, head);
        quit(&pty);
    }

    #[test]
    fn foot_gets_sixels() {
        let pty = running(FOOT, &picture());
        pty.wait_for_bytes(0, b"\x1bP0;1;0q\"1;1;40;60#0;2;78;4;4#0!40~$-");
        pty.wait_gone("[PNG");
        let from = pty.bytes().len();
        // Without a known cell size, the label is shown.
        pty.resize(90, 30);
        pty.wait_for("peer 90x30");
        pty.press(&["x"]);
        pty.wait_for("key x");
        assert!(!written(&pty, from).contains("\x1bP"), "{pty:?}");
        quit(&pty);
    }

    #[test]
    fn other_terminals_show_label() {
        let none = [("TERM", "xterm-256color")];
        let tmux = [("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux,1,0")];
        for variables in [none.as_slice(), &tmux] {
            let pty = setup(variables, &picture()).spawn();
            pty.wait_for("peer 80x24");
            pty.press(&["m", "x"]);
            pty.wait_for("key x");
            quit(&pty);
            let text = written(&pty, 0);
            assert!(!text.contains("\x1b_G") && !text.contains("1337") && !text.contains("\x1bP"), "{pty:?}");
        }
    }

    #[test]
    fn invalid_image_shows_label() {
        let mut half = STANDARD.decode(picture()).unwrap();
        half.truncate(half.len() / 2);
        for image in [png(100, 100), png(65_535, 65_535), STANDARD.encode(half), "no base64!".to_owned()] {
            let pty = running(KITTY, &image);
            pty.wait_for("[PNG");
            pty.press(&["x"]);
            pty.wait_for("key x\n");
            pty.press(&["y"]);
            pty.wait_for("key y");
            pty.wait_for("[PNG");
            quit(&pty);
            assert!(!written(&pty, 0).contains("\x1b_G"), "{pty:?}");
        }
    }
}
