// Package master is a ROS 1 master and parameter server in one value: what roscore
// runs, without its rosout node and its launcher.
//
// It answers the Master API, the Parameter Server API and system.multicall as
// rosmaster of ros_comm 1.15 does, with its codes and texts, and tells nodes about
// publishers, parameters and name clashes through one ordered queue for each node,
// so that a dead or slow node delays nobody else. Where it differs on purpose:
//
//   - shutdown is refused unless Options.OnShutdown is set;
//   - when a node is replaced by another of the same name, the subscribers of its
//     topics are told (rosmaster leaves them with the old publisher);
//   - a node being replaced cannot take its name back by subscribing a parameter,
//     which roscpp does while it shuts down (with rosmaster both nodes end);
//   - a subscriber below a parameter that becomes a plain value is told that its
//     own parameter is gone (rosmaster tells it only if the new value is a struct);
//   - updates that a node did not take in time are repeated a few times, with the
//     latest value;
//   - lists are sorted by name, and names, nesting, the number of registrations and
//     the size of the parameter tree are limited.
//
// roscore also starts the node /rosout, which gathers what nodes publish on /rosout and repeats it
// on /rosout_agg, and a roslaunch server, listed below /roslaunch/uris. This package has neither,
// and does not set the parameter: tools would call the servers that it lists. rostopic, rosnode
// (also cleanup), rosparam, rosservice, roslaunch, roswtf and rosbag work without them. rqt_console
// and other tools that read /rosout_agg show nothing unless the node rosout/rosout runs; /rosout
// itself works.
//
// The package makes network calls only from its queues, never while it holds a lock.
package master

import (
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

// HeapBytes is what the heap of a master needs at most in usual use: the parameters, as many bytes of
// replies that peers have not read yet, and all else. A garbage collector with this limit keeps a program
// that is a master below 200 MB.
const HeapBytes = 2*maxParamBytes + 16<<20

// Limits of one master. rosmaster has no limits; these are far above the needs of real graphs, and
// keep a hostile peer from filling the memory.
const (
	maxNameBytes     = 4096     // bytes of a name, a type or a URI
	maxRegistrations = 200_000  // publishers, subscribers, services and parameter subscribers together
	maxParamBytes    = 64 << 20 // bytes of the parameter tree, roughly, with its texts as they are sent
	maxParamDepth    = 64       // path elements of a parameter plus nesting of its value
	maxRequestBytes  = 32 << 20 // bytes of one request: robot descriptions have several MB
	maxRequestValues = 1 << 19  // values in one request
	maxConns         = 4096     // open connections: nodes keep a connection open between calls
	sweepTypesAt     = 65536    // known topic types above which those of unused topics are forgotten

	maxMulticallBytes = outgoing.OutgoingBytes / 2 // bytes of the results of one system.multicall
)
