//! Cuts an input into pieces.

/// Longest piece of [`cut_unevenly`], in bytes.
const LONGEST: u64 = 23;

/// Cuts bytes into pieces of uneven length. The cuts depend only on the bytes, so that a finding is reproducible.
pub(crate) fn cut_unevenly(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut state = hash(bytes) | 1;
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        // Xorshift with 64 bits.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let length = usize::try_from(1 + state % LONGEST).unwrap_or(1);
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// Hashes bytes with 64-bit FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
