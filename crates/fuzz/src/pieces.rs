//! Cuts an input into pieces, as a reader may receive them.

/// The maximum number of bytes in a piece of [`uneven_pieces`].
const LONGEST: u64 = 23;

/// Cuts the bytes into pieces of uneven length. The cuts depend only on the bytes, so a finding can be repeated.
pub(crate) fn uneven_pieces(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut state = fnv1a_hash(bytes) | 1;
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        // Xorshift, 64 bits.
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

/// Returns the 64-bit FNV-1a hash of the bytes.
pub(crate) fn fnv1a_hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
