// Package mismatch says why messages and their reader do not fit: another type, another version, a wrong
// or missing text, the same md5sum with other arrays, or a type that has moved. Each of these has another
// remedy.
//
// It compares definitions as package migration does, and knows neither where they come from nor what is
// to be done. It does no I/O, logs nothing and starts no goroutine.
package mismatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/migration"
	"github.com/gorosbag/gorosbag/rosmsg"
)

// Case is why messages and their reader do not fit.
type Case uint8

// The cases.
const (
	Fits         Case = iota
	OtherType         // another type on the topic
	OtherVersion      // another version of the type
	OtherArrays       // the same md5sum, but T[2] where the other one has T[]
	MovedType         // the same fields under another name
	WrongText         // the text that came with the messages has another md5sum than they
	NoText            // no text came with the messages, or none that can be parsed
	UnknownText       // the reader says its md5sum only, and no known definition has it
)

// Explanation says why messages and their reader do not fit.
type Explanation struct {
	Case Case
	// Text is one line: what is different.
	Text string
	// Plan says how the messages become those that are wanted. It is nil if a definition is not known, or
	// for another type.
	Plan *migration.Plan
	// From and To are the definitions of Plan.
	From, To Resolved
}

// maxShown is how many changes Explanation.Text has.
const maxShown = 6

// Explain compares what messages are with what is wanted. known may be nil. o is that of migration.Compare.
func Explain(have, wanted Definition, known Known, o *migration.Options) Explanation {
	from, err := Resolve(have, known)
	if err != nil {
		return Explanation{Case: NoText, Text: fmt.Sprintf("of %s, %v", have.Type, err)}
	}
	to, err := resolveWanted(wanted, have, known)
	if err != nil {
		e := Explanation{Case: UnknownText, From: from}
		if have.Type == wanted.Type {
			e.Text = fmt.Sprintf("another version of %s, md5sum %.40s: %v", wanted.Type, wanted.MD5Sum, err)
		} else {
			e.Case, e.Text = OtherType, otherType(have.Type, wanted.Type)
		}
		return e
	}
	e := Explanation{From: from, To: to}
	if from.Type != to.Type && !alike(from.Parsed, to.Parsed) {
		e.Case, e.Text = OtherType, otherType(have.Type, wanted.Type)
		return e
	}
	if o == nil {
		o = &migration.Options{}
	}
	p, err := migration.Compare(from.Parsed, to.Parsed, o)
	if err != nil {
		e.Case, e.Text = OtherVersion, err.Error()
		return e
	}
	e.Plan = p
	texts := shown(p.Changes)
	layoutDiffers := slices.ContainsFunc(p.Changes,
		func(c migration.Change) bool { return c.Kind == migration.FieldConverted })
	switch {
	case from.Fault != "":
		e.Case, e.Text = WrongText, fmt.Sprintf("of %s, %s", have.Type, from.Fault)
		if len(p.Changes) > 0 {
			e.Text += "; by its messages: " + texts
		}
	case from.Type != to.Type:
		e.Case, e.Text = MovedType,
			fmt.Sprintf("%s and %s have the same fields: it may have moved", from.Type, to.Type)
		if from.MD5Sum != to.MD5Sum {
			e.Text = fmt.Sprintf("%s and %s have similar fields: it may have moved, and changed: %s",
				from.Type, to.Type, texts)
		}
	case from.MD5Sum == to.MD5Sum && layoutDiffers:
		e.Case, e.Text = OtherArrays,
			fmt.Sprintf("other arrays of %s, with the same md5sum: %s", to.Type, texts)
	case from.MD5Sum == to.MD5Sum:
		e.Case = Fits
	default:
		e.Case, e.Text = OtherVersion, fmt.Sprintf("another version of %s: %s", to.Type, texts)
	}
	return e
}

func otherType(have, wanted string) string {
	return fmt.Sprintf("another type: %s, and not %s", have, wanted)
}

// resolveWanted is Resolve for a reader, of which often only type and md5sum are known.
func resolveWanted(d, have Definition, known Known) (Resolved, error) {
	if strings.EqualFold(d.MD5Sum, have.MD5Sum) && d.Text == "" {
		d.Text = have.Text
	}
	if d.Text != "" || strings.EqualFold(d.MD5Sum, rosmsg.EmptyMD5Sum) {
		return Resolve(d, known)
	}
	all, err := find(known, d.Type)
	for _, k := range all {
		if t, err := rosmsg.Parse(k.Type, k.Text); err == nil && strings.EqualFold(t.MD5Sum(), d.MD5Sum) {
			return Resolved{Definition: Definition{k.Type, t.MD5Sum(), k.Text}, Parsed: t}, nil
		}
	}
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{},
		fmt.Errorf("its fields are not known, because it sends no definition and none that is known has its md5sum")
}

// alike reports whether two types have most of their fields in common.
func alike(a, b *rosmsg.Type) bool {
	if a.MD5Sum() == b.MD5Sum() {
		return true
	}
	in := make(map[rosmsg.Field]bool)
	for _, f := range a.Fields() {
		in[f] = true
	}
	n := 0
	for _, f := range b.Fields() {
		if in[f] {
			n++
		}
	}
	return n > 1 && 2*n > max(len(a.Fields()), len(b.Fields()))
}

// shown returns the first changes as a text.
func shown(changes []migration.Change) string {
	var all []string
	for n, c := range changes {
		if n == maxShown {
			all = append(all, fmt.Sprintf("and %d more", len(changes)-n))
			break
		}
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}
