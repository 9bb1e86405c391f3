// Package tcpros is a ROS 1 node that transfers raw messages: it registers with a master,
// subscribes to and publishes topics of any type, and provides and calls services. It does
// not decode messages; for std_srvs there are codecs.
//
// The unit of transfer is a frame: <u32 little endian length><payload>, in the same bytes on
// a TCPROS connection and at the end of a message record in a bag.
//
// The package knows the ROS graph, but no bags or files. It does not trust peers or the
// master: it checks every length before allocating memory, every wait has a deadline, and a
// slow or failing peer never delays the data of another.
//
// Goroutines: a Node owns its registrar, its two servers and one goroutine for
// each Subscription; a Subscription owns one goroutine for each publisher; a
// server owns two goroutines for each subscriber, and for each caller of a service.
// All have ended when Node.Close returns, except those of service handlers that do
// not return in time.
package tcpros
