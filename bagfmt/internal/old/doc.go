// Package old has the records of bags of versions 0, 1.0, 1.1 and 1.2.
package old
