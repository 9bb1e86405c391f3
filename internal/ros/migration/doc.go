// Package migration says how two definitions of a ROS 1 message differ, and makes messages of one of them
// messages of the other one.
//
// [Compare] matches fields by name, also in nested types, and lists each difference: what is added,
// removed, renamed or converted, whether that may lose something, and which option of the caller it
// needs. If nothing is refused, [Plan.Converter] has the steps (copy, skip, insert, convert, repeat) that
// a message takes.
//
// A reader that compares md5sums compares too little: the md5sum leaves out the brackets of arrays of
// messages, so that T[2] and T[] have the same. Everything here compares the parsed definitions.
//
// The package does no I/O, logs nothing and starts no goroutine. Definitions and payloads may come from
// anywhere: a payload is never read beyond its end, and its conversion never has more than 4 MiB and 256
// times its bytes, or 1 GB.
package migration
