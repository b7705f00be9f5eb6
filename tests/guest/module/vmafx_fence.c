/*
 * Fences for tests: /dev/vmafx_fence hands out sync_files whose end the test decides, with success
 * or with an error, which no driver of a stock kernel does on request.
 *
 * One open file is one producer. CREATE makes a pending fence and its sync_file; SIGNAL ends it
 * with 0 or -errno; when the last descriptor of the open file is closed, by hand or by the death
 * of its process, what is still pending ends with -ECANCELED.
 *
 * Under this repository's licences, and under the GPL 2 as what the kernel exports asks for.
 *
 * What must stay true: a fence ends exactly once. The module stays loaded: fences outlive their
 * producer, and their operations are in here, so there is no exit function.
 */

#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

/* The interface; crates/fences/tests/kernel/rig.rs declares the same. */
struct vmafx_fence_create {
	char timeline[24]; /* in: what the timeline is called, ended by a zero */
	__u64 number;      /* out: which fence of this open file, from 1 */
	__s32 fd;          /* out: its sync_file */
	__u32 pad;         /* in: 0 */
};

struct vmafx_fence_signal {
	__u64 number; /* in: which fence of this open file */
	__s32 error;  /* in: 0 or -errno */
	__u32 pad;    /* in: 0 */
};

#define VMAFX_FENCE_CREATE _IOWR(0xb6, 0x40, struct vmafx_fence_create)
#define VMAFX_FENCE_SIGNAL _IOW(0xb6, 0x41, struct vmafx_fence_signal)

struct test_fence {
	struct dma_fence base; /* first: the release of dma_fence frees this struct */
	spinlock_t lock;
	struct list_head pending;
	char timeline[24];
};

struct producer {
	struct mutex mutex;
	struct list_head pending;
	u64 context;
	u64 made;
};

static const char *driver_name(struct dma_fence *base)
{
	return "vmafx_fence";
}

static const char *timeline_name(struct dma_fence *base)
{
	return container_of(base, struct test_fence, base)->timeline;
}

static const struct dma_fence_ops operations = {
	.get_driver_name = driver_name,
	.get_timeline_name = timeline_name,
};

/* Ends the fence and gives the producer's reference up. */
static void end(struct test_fence *fence, int error)
{
	list_del(&fence->pending);
	if (error)
		dma_fence_set_error(&fence->base, error);
	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
}

static long create(struct producer *producer, void __user *user)
{
	struct vmafx_fence_create argument;
	struct sync_file *file;
	struct test_fence *fence;
	int fd;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	if (argument.pad)
		return -EINVAL;
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	strscpy(fence->timeline, argument.timeline, sizeof(fence->timeline));
	spin_lock_init(&fence->lock);
	argument.number = ++producer->made;
	dma_fence_init(&fence->base, &operations, &fence->lock, producer->context, argument.number);
	list_add_tail(&fence->pending, &producer->pending);

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		end(fence, fd);
		return fd;
	}
	file = sync_file_create(&fence->base);
	argument.fd = fd;
	if (!file || copy_to_user(user, &argument, sizeof(argument))) {
		int error = file ? -EFAULT : -ENOMEM;

		put_unused_fd(fd);
		if (file)
			fput(file->file);
		end(fence, error);
		return error;
	}
	fd_install(fd, file->file);
	return 0;
}

static long signal(struct producer *producer, void __user *user)
{
	struct vmafx_fence_signal argument;
	struct test_fence *fence;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	if (argument.pad || argument.error > 0 || argument.error < -MAX_ERRNO)
		return -EINVAL;
	list_for_each_entry(fence, &producer->pending, pending) {
		if (fence->base.seqno == argument.number) {
			end(fence, argument.error);
			return 0;
		}
	}
	return -ENOENT;
}

static long control(struct file *file, unsigned int number, unsigned long user)
{
	struct producer *producer = file->private_data;
	long result = -ENOTTY;

	mutex_lock(&producer->mutex);
	if (number == VMAFX_FENCE_CREATE)
		result = create(producer, (void __user *)user);
	else if (number == VMAFX_FENCE_SIGNAL)
		result = signal(producer, (void __user *)user);
	mutex_unlock(&producer->mutex);
	return result;
}

static int open(struct inode *inode, struct file *file)
{
	struct producer *producer = kzalloc(sizeof(*producer), GFP_KERNEL);

	if (!producer)
		return -ENOMEM;
	mutex_init(&producer->mutex);
	INIT_LIST_HEAD(&producer->pending);
	producer->context = dma_fence_context_alloc(1);
	file->private_data = producer;
	return 0;
}

static int release(struct inode *inode, struct file *file)
{
	struct producer *producer = file->private_data;
	struct test_fence *fence, *next;

	list_for_each_entry_safe(fence, next, &producer->pending, pending)
		end(fence, -ECANCELED);
	mutex_destroy(&producer->mutex);
	kfree(producer);
	return 0;
}

static const struct file_operations files = {
	.owner = THIS_MODULE,
	.open = open,
	.release = release,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vmafx_fence",
	.fops = &files,
};

static int __init start(void)
{
	return misc_register(&device);
}
module_init(start);

MODULE_DESCRIPTION("Fences that end as a test decides");
MODULE_LICENSE("Dual MIT/GPL");
