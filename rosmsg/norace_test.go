//go:build !race

package rosmsg_test

const racing = false
