// Package opening makes the Table of a bag: from its index section, by one scan where there is no
// good one, and by a scan for versions 0 to 1.2.
//
// Decisions: ADR 0017.
package opening
