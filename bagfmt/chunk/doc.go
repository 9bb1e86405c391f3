// Package chunk builds chunks of bags in memory, for bagfmt.Writer and for recorders that hold
// chunks back before they are written.
package chunk
