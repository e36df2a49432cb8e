//! Checks the sequences that show images with a strict grammar, because terminal parsers skip their contents.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A part of a sequence.
enum SequencePart {
    /// This exact text.
    Word(&'static str),
    /// A decimal number.
    Number,
    /// `0` or `1`.
    Bit,
    /// Base64, possibly only a part.
    Base64,
    /// The base64 of a picture as haft encodes it.
    Picture,
    /// Sixels: colors, points and positions.
    Sixels,
}

use SequencePart::{Base64, Bit, Number, Picture, Sixels, Word};

/// All sequences that haft writes for images.
const SEQUENCES: &[&[SequencePart]] = &[
    &[Word("\x1b_Ga=t,t=d,f=100,i="), Number, Word(",q=2,m="), Bit, Word(";"), Base64, Word("\x1b\\")],
    &[Word("\x1b_Gq=2,m="), Bit, Word(";"), Base64, Word("\x1b\\")],
    &[Word("\x1b_Ga=p,i="), Number, Word(",p=1,c="), Number, Word(",r="), Number, Word(",C=1,q=2\x1b\\")],
    &[Word("\x1b_Ga=d,d=i,i="), Number, Word(",p=1,q=2\x1b\\")],
    &[Word("\x1b_Ga=d,d=I,i="), Number, Word(",q=2\x1b\\")],
    &[
        Word("\x1b]1337;File=inline=1;size="),
        Number,
        Word(";width="),
        Number,
        Word(";height="),
        Number,
        Word(";preserveAspectRatio=0;doNotMoveCursor=1:"),
        Picture,
        Word("\x07"),
    ],
    &[Word("\x1bP0;1;0q\"1;1;"), Number, Word(";"), Number, Sixels, Word("\x1b\\")],
];

/// Returns the text without images, and the defects of the images.
pub(super) fn remove_images(bytes: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (mut rest, mut others, mut found) = (bytes, Vec::new(), Vec::new());
    let mut sent: Vec<u8> = Vec::new();
    while let [first, after @ ..] = rest {
        let sequence = SEQUENCES.iter().find_map(|parts| match_sequence(parts, rest));
        let Some((length, payload)) = sequence.filter(|_| *first == 0x1b) else {
            others.push(*first);
            rest = after;
            continue;
        };
        let (this, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        if let Some(payload) = payload {
            sent.extend(payload);
            if !contains(this, b",m=1;") {
                found.extend(picture_defect(&std::mem::take(&mut sent)));
            }
        }
        rest = after;
    }
    found.extend((!sent.is_empty()).then(|| "an incomplete image".to_owned()));
    (others, found)
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

/// Returns the length of the sequence at the beginning, and its base64.
fn match_sequence<'b>(parts: &[SequencePart], bytes: &'b [u8]) -> Option<(usize, Option<&'b [u8]>)> {
    let (mut rest, mut payload) = (bytes, None);
    for part in parts {
        let length = match part {
            Word(word) => rest.starts_with(word.as_bytes()).then_some(word.len())?,
            Number => Some(run(rest, u8::is_ascii_digit)).filter(|length| (1..=10).contains(length))?,
            Bit => matches!(rest.first(), Some(b'0' | b'1')).then_some(1)?,
            Base64 | Picture => run(rest, |b| b.is_ascii_alphanumeric() || b"+/=".contains(b)),
            Sixels => run(rest, |b| b.is_ascii_digit() || b"#;!$-".contains(b) || (b'?'..=b'~').contains(b)),
        };
        let (this, after) = rest.split_at_checked(length)?;
        if matches!(part, Base64 | Picture) {
            payload = Some(this);
        }
        rest = after;
    }
    Some((bytes.len() - rest.len(), payload))
}

fn run(bytes: &[u8], is_it: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is_it(byte)).unwrap_or(bytes.len())
}

/// Returns the defect of a picture. A picture must be a PNG with only pixel data, so that no other data of its source
/// remains.
fn picture_defect(coded: &[u8]) -> Option<String> {
    let Ok(png) = STANDARD.decode(coded) else { return Some("an image that is not base64".to_owned()) };
    let Some(mut rest) = png.strip_prefix(b"\x89PNG\r\n\x1a\n") else {
        return Some("an image that is not a PNG".to_owned());
    };
    let mut kinds = Vec::new();
    while let [a, b, c, d, kind @ ..] = rest {
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        let Some(kind) = kind.get(..4) else { return Some("a PNG with trailing data".to_owned()) };
        kinds.push(String::from_utf8_lossy(kind).into_owned());
        rest = rest.get(length.saturating_add(12)..).unwrap_or_default();
    }
    let is_plain = matches!(kinds.as_slice(), [first, data @ .., last]
        if first == "IHDR" && last == "IEND" && !data.is_empty() && data.iter().all(|kind| kind == "IDAT"));
    (!is_plain).then(|| format!("a PNG with the chunks {kinds:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a PNG with these chunks.
    fn png(kinds: &[&[u8; 4]]) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        for kind in kinds {
            bytes.extend([0, 0, 0, 1]);
            bytes.extend(*kind);
            bytes.extend([7, 0, 0, 0, 0]);
        }
        STANDARD.encode(bytes)
    }

    fn plain() -> String {
        png(&[b"IHDR", b"IDAT", b"IEND"])
    }

    #[track_caller]
    fn check(text: &str, others: &str, wrong: bool) {
        let (rest, found) = remove_images(text.as_bytes());
        assert_eq!(
            (String::from_utf8_lossy(&rest).as_ref(), !found.is_empty()),
            (others, wrong),
            "{found:?}"
        );
    }

    #[test]
    fn accepts_sequences_of_haft() {
        let plain = plain();
        check(&format!("a\x1b_Ga=t,t=d,f=100,i=7,q=2,m=0;{plain}\x1b\\b"), "ab", false);
        let (one, two) = plain.split_at(8);
        let chunks = format!("\x1b_Ga=t,t=d,f=100,i=7,q=2,m=1;{one}\x1b\\\x1b_Gq=2,m=0;{two}\x1b\\");
        check(&chunks, "", false);
        check("\x1b_Ga=p,i=7,p=1,c=3,r=2,C=1,q=2\x1b\\", "", false);
        check("\x1b_Ga=d,d=i,i=7,p=1,q=2\x1b\\\x1b_Ga=d,d=I,i=7,q=2\x1b\\", "", false);
        let file = "File=inline=1;size=9;width=2;height=1;preserveAspectRatio=0;doNotMoveCursor=1";
        check(&format!("\x1b]1337;{file}:{plain}\x07"), "", false);
        check("\x1bP0;1;0q\"1;1;2;2#0;2;0;0;100#0!4~$-\x1b\\", "", false);
    }

    #[test]
    fn keeps_or_reports_other_sequences() {
        for left in [
            "\x1b_Ga=t,t=f,f=100,i=7,q=2,m=0;YWJj\x1b\\",
            "\x1b_Ga=t,t=d,f=100,i=7,q=2,m=0;YW Jj\x1b\\",
            "\x1b_Ga=q,i=7\x1b\\",
            "\x1b_Ga=d,d=A,q=2\x1b\\",
            "\x1b]1337;File=name=eA==;inline=1:YWJj\x07",
            "\x1b]1337;SetMark\x07",
            "\x1bPq#0~\x1b\\",
            "\x1bP0;1;0q\"1;1;2;2#0\x1b[2J\x1b\\",
        ] {
            check(left, left, false);
        }
        let commented = png(&[b"IHDR", b"tEXt", b"IDAT", b"IEND"]);
        for coded in [commented.as_str(), "YWJj", "YWJ", ""] {
            check(&format!("\x1b_Ga=t,t=d,f=100,i=7,q=2,m=0;{coded}\x1b\\"), "", true);
        }
        check(&format!("\x1b_Ga=t,t=d,f=100,i=7,q=2,m=1;{}\x1b\\", plain()), "", true);
    }
}
