// Package recovery copies what is good of a damaged bag to another one.
//
// Decisions: ADR 0025.
package recovery
