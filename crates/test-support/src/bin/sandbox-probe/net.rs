//! Sockets.

use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};

use rustix::net::{AddressFamily, SocketType, socket};

use crate::SceneFacts;

pub(crate) fn attempt(name: &str, facts: &SceneFacts) -> Option<io::Result<()>> {
    let port = u16::try_from(facts.number("port")).unwrap_or(0);
    Some(match name {
        "stream-pair" => UnixStream::pair().map(drop),
        "tcp" => TcpStream::connect(("127.0.0.1", port)).map(drop),
        "tcp-listen" => listens_to_itself(),
        "udp" => UdpSocket::bind("127.0.0.1:0").and_then(|socket| {
            let own = socket.local_addr()?;
            socket.send_to(b"?", own).map(drop)
        }),
        // Netlink sockets are raw for every user; 0 is the protocol for routes.
        "tables-of-routes" => open_socket(AddressFamily::NETLINK, SocketType::RAW),
        "raw-socket" => open_socket(AddressFamily::INET, SocketType::RAW),
        "packet-socket" => open_socket(AddressFamily::PACKET, SocketType::RAW),
        "unix-by-path" => UnixStream::connect(facts.path("socket")).map(drop),
        "unix-by-name" => SocketAddr::from_abstract_name(facts.text("name"))
            .and_then(|name| UnixStream::connect_addr(&name))
            .map(drop),
        "unix-by-pair" => {
            UnixDatagram::pair().and_then(|(one, _)| one.send_to(b"?", facts.path("datagrams"))).map(drop)
        }
        _ => return None,
    })
}

fn listens_to_itself() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect(listener.local_addr()?).map(drop)
}

fn open_socket(family: AddressFamily, kind: SocketType) -> io::Result<()> {
    socket(family, kind, None).map(drop).map_err(io::Error::from)
}
