// Package mcapscan reads an MCAP file from front to back, from a pipe for example. The Scanner of
// bagfmt uses it.
package mcapscan
