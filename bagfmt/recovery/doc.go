// Package recovery copies what is good of a damaged bag to another one.
package recovery
