# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# tandem.spdx.json, a bill of materials in SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/): what the library is linked
# to, opens at run time and was built by. The number of the document is made of its contents, and its date is
# SOURCE_DATE_EPOCH where that is set, so that the same build has the same file.
string(TIMESTAMP sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC)
set(sbom_packages "")
set(sbom_relations "")
# sbom_add(NAME VERSION LICENCE RELATION): a package that is RELATION Tandem. An empty version is not known.
function(sbom_add name version licence relation)
  string(REGEX REPLACE "[^A-Za-z0-9.]+" "-" id "SPDXRef-${name}")
  set(known "")
  if(version)
    set(known "\"versionInfo\": \"${version}\", ")
  endif()
  set(sbom_packages "${sbom_packages},
    {\"SPDXID\": \"${id}\", \"name\": \"${name}\", ${known}\"downloadLocation\": \"NOASSERTION\",
     \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"${licence}\",
     \"copyrightText\": \"NOASSERTION\"}" PARENT_SCOPE)
  set(sbom_relations "${sbom_relations},
    {\"spdxElementId\": \"${id}\", \"relationshipType\": \"${relation}\", \"relatedSpdxElement\": \"SPDXRef-tandem\"}"
    PARENT_SCOPE)
endfunction()

if(TANDEM_SAFETENSORS OR TANDEM_TOOLS)
  sbom_add(jansson "${JANSSON_VERSION}" MIT RUNTIME_DEPENDENCY_OF)
endif()
if(TANDEM_WITH_MPI)
  sbom_add(MPI "${MPI_C_VERSION}" NOASSERTION OPTIONAL_DEPENDENCY_OF)
endif()
# libraries that it opens where it finds them
set(opened oneDNN OpenBLAS BLIS oneMKL)
if(TANDEM_OPENCL)
  list(APPEND opened "OpenCL ICD loader" CLBlast)
endif()
if("cuda" IN_LIST TANDEM_BACKENDS)
  list(APPEND opened "CUDA driver" NVRTC cuBLAS NVML NCCL)
endif()
foreach(library IN LISTS opened)
  sbom_add("${library}" "" NOASSERTION OPTIONAL_DEPENDENCY_OF)
endforeach()
sbom_add(${CMAKE_C_COMPILER_ID} "${CMAKE_C_COMPILER_VERSION}" NOASSERTION BUILD_TOOL_OF)
sbom_add(CMake "${CMAKE_VERSION}" BSD-3-Clause BUILD_TOOL_OF)
sbom_add("Optical Recognition of Handwritten Digits" "" CC-BY-4.0 EXAMPLE_OF)
string(UUID sbom_number NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1
  NAME "${PROJECT_VERSION} ${sbom_created} ${sbom_packages}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tandem.spdx.json @ONLY CONTENT [[{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "tandem-@PROJECT_VERSION@",
  "documentNamespace": "https://spdx.org/spdxdocs/tandem-@PROJECT_VERSION@-@sbom_number@",
  "creationInfo": {
    "created": "@sbom_created@",
    "creators": ["Organization: The Tandem authors", "Tool: CMake-@CMAKE_VERSION@"]
  },
  "packages": [
    {"SPDXID": "SPDXRef-tandem", "name": "tandem", "versionInfo": "@PROJECT_VERSION@",
     "supplier": "Organization: The Tandem authors", "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
     "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
     "copyrightText": "Copyright The Tandem authors", "primaryPackagePurpose": "LIBRARY",
     "summary": "@PROJECT_DESCRIPTION@"}@sbom_packages@
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-tandem"}@sbom_relations@
  ]
}
]])
install(FILES ${PROJECT_BINARY_DIR}/tandem.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
