//! The program of a filter, which finds a call by binary search.
//!
//! The kernel runs a new filter once for each call number, to learn which calls are always allowed. As a chain of
//! comparisons, the same filter made each sandboxed start 0.4 ms slower.

use std::collections::BTreeMap;
use std::io;
use std::mem::offset_of;

use libc::{c_long, seccomp_data};
use seccompiler::{BpfProgram, sock_filter};

/// Instructions of the kernel's BPF machine.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Results of a filter.
const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
const ABSENT: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
const KILL: u32 = libc::SECCOMP_RET_KILL_PROCESS;

/// The kernel's number of this processor architecture; 0 if it has no filter.
const ARCH: u32 = if cfg!(target_arch = "x86_64") {
    0xC000_003E
} else if cfg!(target_arch = "aarch64") {
    0xC000_00B7
} else {
    0
};

/// The lower half of an argument is its first one on the architectures with a filter.
const ARGUMENT_BYTES: u32 = 8;

/// The result of a call that is not always allowed.
pub(super) enum CallAction {
    /// The call fails with `EPERM`.
    Refuse,
    /// The call fails with `ENOSYS`.
    Absent,
    /// The call fails with `EPERM` if one of the rules matches; otherwise it is allowed.
    RefuseIf(Vec<Rule>),
}

/// Conditions on the arguments of a call; the rule matches if all of them hold.
pub(super) type Rule = Vec<Condition>;

/// A condition on the lower half of an argument, because all compared arguments are 32-bit numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    /// The argument's position, from 0.
    pub(super) arg: u32,
    /// The bits that are compared.
    pub(super) mask: u32,
    /// The value of these bits.
    pub(super) value: u32,
    /// True if the bits must have the value; false if they must not.
    pub(super) equal: bool,
}

/// The decision about all call numbers of an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Return(u32),
    /// The rules that begin at this instruction behind the search.
    Rules(usize),
}

/// Returns the program of a filter that allows all calls up to `newest`, except these.
///
/// # Errors
/// When this processor architecture has no filter, or the list of calls is too long for the jumps of a filter.
pub(super) fn filter_program(calls: BTreeMap<c_long, CallAction>, newest: c_long) -> io::Result<BpfProgram> {
    if ARCH == 0 {
        return Err(io::Error::other(format!("haft has no filter for {}", std::env::consts::ARCH)));
    }
    let mut rules = BpfProgram::new();
    let mut intervals = vec![(0, Decision::Return(ALLOW))];
    for (call, action) in calls {
        let decision = match action {
            CallAction::Refuse => Decision::Return(REFUSE),
            CallAction::Absent => Decision::Return(ABSENT),
            CallAction::RefuseIf(conditions) => {
                let at = rules.len();
                push_rules(&mut rules, &conditions)?;
                Decision::Rules(at)
            }
        };
        let call = u32::try_from(call).map_err(io::Error::other)?;
        start_interval(&mut intervals, call, decision);
        start_interval(&mut intervals, call + 1, Decision::Return(ALLOW));
    }
    // The second set of x86-64 call numbers (x32) lies above them all.
    let newest = u32::try_from(newest).map_err(io::Error::other)?;
    start_interval(&mut intervals, newest + 1, Decision::Return(ABSENT));
    let mut program = vec![
        load(offset_of!(seccomp_data, arch))?,
        instruction(IF_EQUAL, ARCH, 1, 0),
        instruction(RETURN, KILL, 0, 0),
        load(offset_of!(seccomp_data, nr))?,
    ];
    let rules_at = program.len() + search_length(&intervals);
    push_search(&mut program, &intervals, rules_at)?;
    program.append(&mut rules);
    Ok(program)
}

/// Adds an interval behind the others, from `start` on. Intervals with the same decision become one.
fn start_interval(intervals: &mut Vec<(u32, Decision)>, start: u32, decision: Decision) {
    intervals.pop_if(|(last, _)| *last == start);
    if intervals.last().is_none_or(|(_, last)| *last != decision) {
        intervals.push((start, decision));
    }
}

/// Returns the number of instructions that search these intervals: one for each interval and one between two.
fn search_length(intervals: &[(u32, Decision)]) -> usize {
    2 * intervals.len() - 1
}

/// Adds a binary search for the loaded call number.
fn push_search(program: &mut BpfProgram, intervals: &[(u32, Decision)], rules_at: usize) -> io::Result<()> {
    let (left, right) = intervals.split_at(intervals.len() / 2);
    match (left, right) {
        ([], [(_, Decision::Return(result))]) => program.push(instruction(RETURN, *result, 0, 0)),
        ([], [(_, Decision::Rules(at))]) => {
            let skip = u32::try_from(rules_at + at - program.len() - 1).map_err(io::Error::other)?;
            program.push(instruction(JUMP, skip, 0, 0));
        }
        (left, [(start, _), ..]) => {
            program.push(instruction(IF_AT_LEAST, *start, short(search_length(left))?, 0));
            push_search(program, left, rules_at)?;
            push_search(program, right, rules_at)?;
        }
        (_, []) => {}
    }
    Ok(())
}

/// Adds the rules of a call, and its permission if none matches.
fn push_rules(program: &mut BpfProgram, rules: &[Rule]) -> io::Result<()> {
    for rule in rules {
        let lengths = rule.iter().map(|condition| if condition.mask == u32::MAX { 2 } else { 3 });
        // Each condition that fails skips the others and the refusal.
        let end = program.len() + lengths.sum::<usize>() + 1;
        for Condition { arg, mask, value, equal } in rule.iter().copied() {
            program.push(load(offset_of!(seccomp_data, args) + (arg * ARGUMENT_BYTES) as usize)?);
            if mask != u32::MAX {
                program.push(instruction(AND, mask, 0, 0));
            }
            let skip = short(end - program.len() - 1)?;
            let (if_equal, if_not) = if equal { (0, skip) } else { (skip, 0) };
            program.push(instruction(IF_EQUAL, value, if_equal, if_not));
        }
        program.push(instruction(RETURN, REFUSE, 0, 0));
    }
    program.push(instruction(RETURN, ALLOW, 0, 0));
    Ok(())
}

fn load(offset: usize) -> io::Result<sock_filter> {
    Ok(instruction(LOAD, u32::try_from(offset).map_err(io::Error::other)?, 0, 0))
}

fn short(skip: usize) -> io::Result<u8> {
    u8::try_from(skip).map_err(|_| io::Error::other("the list of calls is too long"))
}

fn instruction(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
