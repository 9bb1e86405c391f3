// Package tcpros is a ROS 1 node that carries raw messages: it registers with a
// master, subscribes to topics of any type and publishes topics of any type, offers
// and calls services, and never decodes what it carries (std_srvs has codecs beside).
//
// What travels is a frame: <u32 little endian length><payload>, exactly as it
// stands on a TCPROS connection and at the end of a message record in a bag.
//
// The package knows the ROS graph and nothing of bags or files. Peers and the
// master are not trusted: every length is checked before memory is spent on it,
// every wait has a deadline, and one peer's trouble never holds up another's data.
//
// Goroutines: a Node owns its registrar, its two servers and one goroutine for
// each Subscription; a Subscription owns one goroutine for each publisher; a
// server owns two goroutines for each subscriber, and for each caller of a service.
// All have ended when Node.Close returns, except those of service handlers that do
// not return in time.
package tcpros
