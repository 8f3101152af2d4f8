//! Names of what sockets are made of: protocols, addresses.
//!
//! Must not know: where they come from.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A protocol's name (`IPPROTO_...` in lower case); `other` for those without one here.
pub const fn protocol_name(number: u32) -> &'static str {
    match number {
        1 => "icmp",
        6 => "tcp",
        17 => "udp",
        58 => "icmpv6",
        132 => "sctp",
        136 => "udplite",
        255 => "raw",
        262 => "mptcp",
        _ => "other",
    }
}

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const AF_NETLINK: u16 = 16;
const AF_PACKET: u16 = 17;

/// The protocol of a socket: that of its family where the protocol number says nothing.
pub fn protocol_of(family: u16, number: u16) -> &'static str {
    match family {
        AF_UNIX => "unix",
        AF_NETLINK => "netlink",
        AF_PACKET => "packet",
        _ => protocol_name(u32::from(number)),
    }
}

/// An address with its port; empty where there is neither.
pub fn address(family: u16, words: [u64; 2], port: u16) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&words[0].to_ne_bytes());
    bytes[8..].copy_from_slice(&words[1].to_ne_bytes());
    match family {
        AF_INET if words[0] == 0 && port == 0 => String::new(),
        AF_INET => format!("{}:{port}", Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
        AF_INET6 if words == [0, 0] && port == 0 => String::new(),
        AF_INET6 => format!("[{}]:{port}", Ipv6Addr::from(bytes)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_with_their_port() {
        let loopback = u64::from(u32::from_ne_bytes([127, 0, 0, 1]));
        assert_eq!(address(AF_INET, [loopback, 0], 12865), "127.0.0.1:12865");
        assert_eq!(address(AF_INET, [0, 0], 0), "");
        let one = u64::from_ne_bytes([0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(address(AF_INET6, [0, one], 5), "[::1]:5");
        assert_eq!(address(AF_UNIX, [0, 0], 0), "");
    }

    #[test]
    fn a_unix_socket_is_no_unnamed_protocol() {
        assert_eq!(protocol_of(AF_UNIX, 0), "unix");
        assert_eq!(protocol_of(AF_INET, 17), "udp");
        assert_eq!(protocol_of(AF_INET, 99), "other");
    }
}
