// Package search finds the next record after a damaged place in a bag, where no length field leads to
// that record.
package search
