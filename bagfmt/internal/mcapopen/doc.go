// Package mcapopen makes the Table of an MCAP file: from its summary, or by one scan where there is no
// good one. Package opening calls it.
package mcapopen
