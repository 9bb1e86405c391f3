// Package rosmsg decodes and encodes ROS 1 messages by their definition, without generated code.
//
// A definition is the text that connection headers and bags carry: the message's own
// fields and constants, then a block for each type that it is made of. [Parse] turns
// it into a [Type]. A Type computes the md5sum as
// ROS does, decodes payloads into values of Go ([Type.Decode]), finds single fields
// without decoding the rest ([Type.Path], [Path.Lookup]), encodes maps and structs
// ([Type.Encode]) and prints messages as JSON, as text and as CSV.
// Package noetic has the definitions of ROS's own messages.
//
// The rules are those of ROS's own tools. Where those are lenient by accident, the
// package is not: a payload that ends early is an error with the field's path and the
// byte's offset, also in the middle of a string. Bytes after the message, which ROS
// ignores, are reported as [ErrTrailing] beside the decoded message.
//
// # Limits
//
// Definitions and payloads may come from anywhere. A definition has at most 1 MiB,
// 1024 types that nest at most 64 deep, 32768 fields, names of 256 bytes, and arrays of
// 16777216 elements where their length is fixed or an element occupies no bytes. A
// payload of n bytes decodes into at most 300 n bytes plus 2 MiB, even if its definition
// asks for a billion elements without content, and prints as at most 256 n bytes plus
// 4 MiB, give or take one value.
//
// The package logs nothing, opens nothing and starts no goroutine. A Type and a Path
// never change once made and may be used by many goroutines.
//
// Decisions: ADR 0020.
package rosmsg

const (
	// maxDefinitionBytes bounds a definition with all its blocks.
	maxDefinitionBytes = 1 << 20
	// maxTypes bounds the types that one message is made of.
	maxTypes = 1024
	// maxFields bounds the fields of all these types together.
	maxFields = 1 << 15
	// maxDepth bounds how deep types nest.
	maxDepth = 64
	// maxNameBytes bounds the name of a field or a type.
	maxNameBytes = 256
	// maxPayload bounds what is encoded: the largest message that roscpp receives.
	maxPayload = 1_000_000_000
	// maxArrayLength bounds the fixed length of an array, and the length of an array
	// whose elements occupy no bytes.
	maxArrayLength = 1 << 24

	// freeNodes and nodesPerByte bound the messages and arrays that a payload may
	// unfold into: those are what memory is needed for beyond the payload's own bytes.
	// A message that wraps a single byte three times is still inside.
	freeNodes    = 1 << 14
	nodesPerByte = 4

	// freeOutput and outputPerByte bound what is printed of a payload: names that are
	// long, or nest, would make much of little.
	freeOutput    = 4 << 20
	outputPerByte = 256
)
