// Package tcpros is a ROS 1 node that transfers raw messages of any type: a small library under
// gorecord and goplay, and for programs of others.
//
//	NewNode           registers with a master, now or when it comes; Close ends everything
//	Node.Subscribe    calls a LinkSink with the frames of each publisher of a topic
//	Node.Advertise    returns a Publication, whose sources publish frames
//	Node.AdvertiseService, Node.CallService
//	Node.Master       asks the master, the parameter server and other nodes
//
// The unit of transfer is a frame: <u32 little endian length><payload>, in the same bytes on
// a TCPROS connection and at the end of a message record in a bag. The package does not decode
// messages: package rosmsg does.
//
// It knows the ROS graph, but no bags or files. It does not trust peers or the master: it checks
// every length before allocating memory, every wait has a deadline, and a slow or failing peer
// never delays the data of another.
package tcpros

// Goroutines: a Node owns its registrar, its two servers and the connector of its links; a
// Subscription owns one goroutine for each publisher that it tries or receives from; a
// Publication owns two for each subscriber, a Service one for each caller and one for each call.
// All have ended when Node.Close returns, except those of service handlers that do not return
// in time.
//
// The package is the public face of the packages in internal/, from the lowest: names; endpoint
// (addresses), wire (connection headers, the account of unfinished input); rosapi (calls to the
// master and to nodes), udpros; registrar (registrations), sublink and publink (receiving and
// sending), service; slaveapi (replies to other nodes). They do not know the node.
//
// Decisions: ADR 0096.
