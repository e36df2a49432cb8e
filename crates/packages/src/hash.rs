//! FNV-1a: a short hash that is the same in every process and on every machine. Not secure against malicious input.

/// Returns the hash of some bytes.
pub fn fnv1a_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
