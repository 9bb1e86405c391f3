// Package topicname has the two kinds of names of a topic as types, so that one kind does not compile
// where the other is meant. They differ where a user writes a relative name, remaps a name, or plays a
// topic under another name. Packages that know one kind only have plain strings.
package topicname

// InBag is the name of a topic in a bag. When a user records a topic by name, it is as the user wrote it,
// as in stock: chatter.
type InBag string

// InGraph is the resolved name of a topic, which the master and all nodes have for it: /robot/chatter.
type InGraph string
