//! Ways to cut an input into the pieces it might arrive in.

/// Up to how many bytes a piece of [`uneven`] has.
const LONGEST: u64 = 23;

/// The bytes in pieces of uneven length. The cuts follow from the bytes alone, so that a finding can be repeated.
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

/// FNV-1a, 64 bits.
pub(crate) fn fnv1a_hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
