// Package bags finds and opens recordings: from an argument, which may be a directory, a pattern or
// a URL, to the names of bags, and from a name to an open bag.
//
// It owns open files and the goroutine that reads a pipe. Programs that read bags call it; it prints
// nothing. Its errors are for people and do not name the file.
package bags
