//! Text with bytes that are none: every byte comes back as it was.

/// What stands for the byte 0x80 that is no text; the others follow. No text of anybody has these.
const FIRST: u32 = 0x0010_ff00;

/// The text, with a character for each byte that is none; `None` if it has such characters itself.
pub(super) fn to_text(bytes: Vec<u8>) -> Option<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Some(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(stands_for_byte) {
            return None;
        }
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|&byte| char::from_u32(FIRST + u32::from(byte))));
    }
    Some(text)
}

/// The way back; `lossy` says whether the text has such characters.
pub(super) fn to_bytes(text: String, lossy: bool) -> Vec<u8> {
    if !lossy {
        return text.into_bytes();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match u8::try_from(u32::from(char).wrapping_sub(FIRST)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(char.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    bytes
}

/// For people: what is no text is shown as such.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|char| if stands_for_byte(char) { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

fn stands_for_byte(char: char) -> bool {
    (FIRST..FIRST + 0x100).contains(&u32::from(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [all, b"caf\xe9\r\n\xff\xfe".to_vec(), "ä\u{feff}".into(), vec![0xf0, 0x9f, 0x98]] {
            let text = to_text(bytes.clone()).unwrap();
            assert_eq!(to_bytes(text, true), bytes);
        }
        assert_eq!(shown(&to_text(b"caf\xe9".to_vec()).unwrap()), "caf\u{fffd}");
        assert_eq!(to_text("\u{10fff0}\n".bytes().chain([0xff]).collect()), None);
    }
}
