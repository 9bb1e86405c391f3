// Package table holds what is known of an opened bag: connections, chunks and damage, and a cache
// of what took long to unpack.
package table
