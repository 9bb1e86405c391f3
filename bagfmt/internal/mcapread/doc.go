// Package mcapread makes the Table of an MCAP file: from its summary, or by one scan where there is no
// good one, which package opening asks for. Its Scanner reads a file from front to back, from a pipe for
// example.
package mcapread
