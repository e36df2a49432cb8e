//! The system calls, and which of them are refused.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, SeccompCmpArgLen, SeccompCmpOp as Is, SeccompCondition as Condition, SeccompRule as Rule,
};

use crate::sandbox::NetworkAccess;

pub(super) const NEWEST: c_long = libc::SYS_mseal;

/// Refused whatever the arguments: other processes, namespaces and mounts, keys, and what is root's.
const ALWAYS: &[c_long] = &[
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // Another view of the system.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Programs and events in the kernel, and faults that another one's code waits for.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Memory, messages and semaphores that all programs of the user have in common, by number or by name.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine's.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Answered as if they were not there. `clone3` has its flags in memory, and is not needed where there is `clone`; what
/// a ring is asked passes every filter.
const UNKNOWN: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// The kernel's rules know when a file is cut off since this version.
const KNOWS_TRUNCATE: u32 = 3;

/// Returns the calls that are answered as if the kernel were too old for them.
pub(super) fn unknown_calls(abi: u32) -> impl Iterator<Item = c_long> {
    // It has its flags in memory, one of which cuts files off.
    let openat2 = (abi < KNOWS_TRUNCATE).then_some(libc::SYS_openat2);
    UNKNOWN.iter().copied().chain(openat2)
}

/// Calls that are refused: always if there are no rules, or if one of the rules fits.
type RefusedCalls = BTreeMap<c_long, Vec<Rule>>;

/// Returns the calls that are not permitted with this network, on a kernel whose rules are of this version.
pub(super) fn refused_calls(net: NetworkAccess, abi: u32) -> Result<RefusedCalls, BackendError> {
    let mut refused: RefusedCalls = ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    refused.extend([
        (libc::SYS_clone, namespace_rules()?),
        (libc::SYS_ioctl, terminal_rules()?),
        (libc::SYS_socketpair, socket_pair_rules()?),
        (libc::SYS_socket, socket_rules(net)?),
        // Limits and priorities of other programs of the same user.
        (libc::SYS_prlimit64, vec![all([is_not(0, 0)?])?]),
        (libc::SYS_setpriority, vec![all([is(0, PRIO_USER)?])?]),
        (libc::SYS_ioprio_set, vec![all([is(0, IOPRIO_WHO_USER)?])?]),
    ]);
    if abi < KNOWS_TRUNCATE {
        refused.insert(libc::SYS_truncate, Vec::new());
        refused.insert(libc::SYS_openat, truncation_rules(2)?);
        #[cfg(target_arch = "x86_64")]
        refused.insert(libc::SYS_open, truncation_rules(1)?);
    }
    Ok(refused)
}

/// Every process of a user, for `setpriority`.
const PRIO_USER: u32 = 2;

/// Every process of a user, for `ioprio_set`.
const IOPRIO_WHO_USER: u32 = 3;

fn namespace_rules() -> Result<Vec<Rule>, BackendError> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    flags.into_iter().map(|flag| all([has_bits(0, flag.cast_unsigned(), flag.cast_unsigned())?])).collect()
}

fn terminal_rules() -> Result<Vec<Rule>, BackendError> {
    /// `TIOCSTI`: a character, as if it had been typed.
    const WORDS: u32 = 0x5412;
    /// `TIOCLINUX`: a console's selection, which can be pasted.
    const CONSOLE: u32 = 0x541C;
    [WORDS, CONSOLE].into_iter().map(|request| all([is(1, request)?])).collect()
}

/// The kind of a socket without the flags beside it.
const KIND: u32 = 0xf;

/// Only pairs whose ends stay with each other: one of datagrams reaches whatever has an address.
fn socket_pair_rules() -> Result<Vec<Rule>, BackendError> {
    let lasting = [libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned()];
    let loose = (0..=KIND).filter(|kind| !lasting.contains(kind));
    loose.map(|kind| all([has_bits(1, KIND, kind)?])).collect()
}

/// None at all, or those that carry TCP and UDP, and the kernel's own tables of addresses and routes, which libraries
/// read before they connect. Unix sockets never: the kernel's rules do not tell one from another.
fn socket_rules(net: NetworkAccess) -> Result<Vec<Rule>, BackendError> {
    if net == NetworkAccess::None {
        return Ok(Vec::new());
    }
    let [v4, v6, tables] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(i32::cast_unsigned);
    let raw = libc::SOCK_RAW.cast_unsigned();
    Ok(vec![
        all([is_not(0, v4)?, is_not(0, v6)?, is_not(0, tables)?])?,
        all([is(0, v4)?, has_bits(1, KIND, raw)?])?,
        all([is(0, v6)?, has_bits(1, KIND, raw)?])?,
        all([is(0, tables)?, is_not(2, libc::NETLINK_ROUTE.cast_unsigned())?])?,
    ])
}

/// `open` that cuts a file off without saying that it writes: the kernel's older rules let that pass.
fn truncation_rules(flags: u8) -> Result<Vec<Rule>, BackendError> {
    let [cuts, mode] = [libc::O_TRUNC, libc::O_ACCMODE].map(i32::cast_unsigned);
    // The last mode is neither reading nor writing, and asks the file's permissions for both.
    [libc::O_RDONLY.cast_unsigned(), mode]
        .into_iter()
        .map(|opened| all([has_bits(flags, cuts | mode, cuts | opened)?]))
        .collect()
}

fn all(conditions: impl Into<Vec<Condition>>) -> Result<Rule, BackendError> {
    Rule::new(conditions.into())
}

/// The lower half of an argument is what the kernel looks at: all of these are numbers of thirty-two bits.
fn is(arg: u8, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::Eq, value.into())
}

fn is_not(arg: u8, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::Ne, value.into())
}

fn has_bits(arg: u8, mask: u32, value: u32) -> Result<Condition, BackendError> {
    Condition::new(arg, SeccompCmpArgLen::Dword, Is::MaskedEq(mask.into()), value.into())
}
