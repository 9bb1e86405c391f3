package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestLicenses checks the licenses of a program: each text once, with its modules, and those of
// the standard library.
func TestLicenses(t *testing.T) {
	t.Parallel()
	text, err := licenses(t.Context(), "", "../../cmd/master")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Go standard library: LICENSE\n", "\ngo.uber.org/zap v", "\ngolang.org/x/sys v", "Copyright (c) 2016-2024 Uber Technologies"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%.2000s", want, text)
		}
	}
	if strings.Contains(string(text), "github.com/gorosbag/") {
		t.Error("it lists the license of gorosbag itself")
	}
	if n := strings.Count(string(text), "Copyright 2009 The Go Authors."); n != 1 {
		t.Errorf("the license of Go occurs %d times", n)
	}
	again, err := licenses(t.Context(), "", "../../cmd/master")
	if err != nil || string(again) != string(text) {
		t.Errorf("the second time differs, %v", err)
	}
}

func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := billOfMaterials("1.2.3", "1700000000", []string{self})
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Timestamp != "2023-11-14T22:13:20Z" || b.Metadata.Component.Version != "1.2.3" {
		t.Errorf("metadata: %+v", b.Metadata)
	}
	if len(b.Components) < 2 || len(b.Components[0].Hashes) != 1 {
		t.Fatalf("components: %+v", b.Components)
	}
	refs := []string{b.Metadata.Component.Ref}
	for _, c := range b.Components {
		refs = append(refs, c.Ref)
	}
	for _, d := range b.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !slices.Contains(refs, ref) {
				t.Errorf("%s is no component", ref)
			}
		}
	}
	if _, err := billOfMaterials("1.2.3", "", nil); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("without a time: %v", err)
	}
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	if got, want := library("example.com/a/v2", "v2.0.0+incompatible").PURL, "pkg:golang/example.com/a/v2@v2.0.0%2Bincompatible"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
