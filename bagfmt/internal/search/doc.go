// Package search finds records of bags where no length leads to them: behind damage.
package search
