// Package ros2 reads a recording of ROS 2 as one of ROS 1. Package sink below it writes one.
//
// It owns the decisions about a recording as a whole: which topic has which type, which connections and
// latched messages it has, and the report of what was changed or lost. Package mapping converts types and
// payloads; packages db3, packed and bagfmt read the bytes of files. Commands that convert or read
// recordings call it.
//
// Decisions: ADR 0101.
package ros2
