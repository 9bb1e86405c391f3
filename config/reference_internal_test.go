package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// WriteReference writes the options of a program as Markdown: under which names, with
// which default, and what they mean. The model is one that Parse fills.
func WriteReference(w io.Writer, program, help string, model any) error {
	k, err := newKong(program, help, "", model)
	if err != nil {
		return err
	}
	byFlag := map[*kong.Flag]*option{}
	for _, o := range optionsOf(k) {
		byFlag[o.flag] = o
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", program)
	for _, g := range groupsOf(k.Model.Flags) {
		if g.title == "" {
			g.title = "About the program"
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n| Option | In a file | Variable | Default | |\n|---|---|---|---|---|\n", program, lowerFirst(g.title))
		for _, f := range g.flags {
			o := byFlag[f]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(usage(f)), code(o.key), code(o.env), code(f.Default), cell(f.Help))
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

// cell writes text into a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(s)
}
