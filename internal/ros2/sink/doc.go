// Package sink writes messages of ROS 1 as a recording of ROS 2. It is apart from package ros2, because
// gorecord and goplay read recordings and do not link what writes them.
//
// It owns the decisions about a recording as a whole: which topic has which type and quality of service,
// what becomes of several types or publishers on one topic, and which file a message goes to. Package
// mapping converts types and payloads; packages db3 and mcapwriter write the bytes of files. gobag
// convert calls it.
//
// Decisions: ADR 0101.
package sink
