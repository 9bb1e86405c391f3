// Package wire has the records of bags as bytes: it parses and writes those of format V2.0, reads
// the first line of every version, and decrypts what stock encrypts. It knows no bag as a whole.
package wire
