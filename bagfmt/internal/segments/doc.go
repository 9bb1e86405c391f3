// Package segments lists the segments of a file while that is read from front to back, and counts the
// messages in each. The packages of bagfmt that open recordings by a scan use it.
package segments
