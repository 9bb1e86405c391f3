// Package codec packs and unpacks the data of chunks. What it unpacks is untrusted: memory follows
// what comes out, not what a length claims.
package codec
