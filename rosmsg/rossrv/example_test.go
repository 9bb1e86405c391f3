package rossrv_test

import (
	"fmt"

	"github.com/gorosbag/gorosbag/rosmsg/rossrv"
)

func Example() {
	setBool, err := rossrv.Parse("std_srvs/SetBool", "bool data\n---\nbool success\nstring message\n")
	if err != nil {
		panic(err)
	}
	request, err := setBool.Request.Encode(map[string]any{"data": true})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s % x\n", setBool.MD5Sum, request)
	// Output: 09fb03525b03e7ea1fd3992bafd87e16 01
}
