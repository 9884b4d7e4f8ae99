/* Prints what hwloc says about the machine in an XML file, for the comparison in tests/rust/machines.rs:
 *
 *   pair A B PUS       the PUs of the lowest object that has both PU A and PU B
 *   pci ID PUS         the PUs of the object that a PCI function is attached to
 *
 * PUS is a list as Linux writes it. PUs that the user may not use are included. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

static void print_set(hwloc_const_bitmap_t set)
{
    char *text = NULL;
    if (hwloc_bitmap_list_asprintf(&text, set) < 0) exit(1);
    printf("%s\n", text);
    free(text);
}

int main(int argc, char **argv)
{
    hwloc_topology_t topology;
    if (argc != 2 || hwloc_topology_init(&topology) < 0) return 1;
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_set_xml(topology, argv[1]) < 0 || hwloc_topology_load(topology) < 0) return 1;

    hwloc_obj_t a = NULL;
    while ((a = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, a))) {
        hwloc_obj_t b = a;
        while ((b = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, b))) {
            hwloc_obj_t both = hwloc_get_common_ancestor_obj(topology, a, b);
            printf("pair %u %u ", a->os_index, b->os_index);
            print_set(both->cpuset);
        }
    }
    hwloc_obj_t device = NULL;
    while ((device = hwloc_get_next_pcidev(topology, device))) {
        const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
        printf("pci %04x:%02x:%02x.%x ", pci->domain, pci->bus, pci->dev, pci->func);
        print_set(hwloc_get_non_io_ancestor_obj(topology, device)->cpuset);
    }
    hwloc_topology_destroy(topology);
    return 0;
}
